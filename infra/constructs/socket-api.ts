import { Stack, Validations } from "aws-cdk-lib";
import { type CfnStage, WebSocketApi, WebSocketStage } from "aws-cdk-lib/aws-apigatewayv2";
import { WebSocketLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";

const stageName = "ws";

export interface SocketApiProps {
  name: string;
  /** Rate limits per second: of frames and disconnects together, and of connects. */
  messagesPerSecond: number;
  connectsPerSecond: number;
}

/** The WebSocket API that clients and nodes connect to. */
export class SocketApi extends Construct {
  /** Where clients connect: `wss://{api}.execute-api.{region}.amazonaws.com/ws`. */
  readonly url: string;
  /** Base of the @connections calls: `https://…/ws`. */
  readonly callbackUrl: string;
  /** ARN of the stage for execute-api; method and path are appended. */
  readonly stageArn: string;
  private readonly api: WebSocketApi;
  private readonly stage: WebSocketStage;
  private readonly connectsPerSecond: number;

  constructor(scope: Construct, id: string, props: SocketApiProps) {
    super(scope, id);
    this.api = new WebSocketApi(this, "Api", { apiName: props.name });
    const stage = new WebSocketStage(this, "Stage", {
      webSocketApi: this.api,
      stageName,
      autoDeploy: true,
      throttle: { rateLimit: props.messagesPerSecond, burstLimit: props.messagesPerSecond * 2 },
    });
    this.stage = stage;
    this.connectsPerSecond = props.connectsPerSecond;
    Validations.of(stage).acknowledge({
      id: "AwsSolutions-APIG1",
      reason:
        "The socket function logs a line for every connect, frame and disconnect. API Gateway's own access log needs " +
        "a role set for the whole account, which is not this stack's to change.",
    });
    this.url = stage.url;
    this.callbackUrl = stage.callbackUrl;
    this.stageArn = Stack.of(this).formatArn({
      service: "execute-api",
      resource: this.api.apiId,
      resourceName: stageName,
    });
  }

  /**
   * Routes every event of a connection to one function. Answers are sent through @connections, not as route responses.
   * Connects have a separate rate limit, because anybody can open sockets.
   */
  routeTo(socket: LambdaFunction): void {
    const integration = new WebSocketLambdaIntegration("SocketIntegration", socket);
    for (const routeKey of ["$connect", "$disconnect", "$default"]) {
      const route = this.api.addRoute(routeKey, { integration });
      Validations.of(route).acknowledge({
        id: "AwsSolutions-APIG4",
        reason:
          "The socket function checks the device token, at $connect or in the connect frame: API Gateway can only " +
          "refuse at $connect. A connection that has not authenticated may do nothing else and is closed after three frames or 10 s.",
      });
      // The stage must not refer to a route before the route exists.
      if (routeKey === "$connect") this.stage.node.addDependency(route);
    }
    const settings = this.stage.node.defaultChild as CfnStage;
    settings.routeSettings = {
      $connect: {
        ThrottlingRateLimit: this.connectsPerSecond,
        ThrottlingBurstLimit: this.connectsPerSecond * 2,
      },
    };
  }
}
