import { Validations } from "aws-cdk-lib";
import { HttpApi, HttpRoute, HttpRouteKey, HttpStage } from "aws-cdk-lib/aws-apigatewayv2";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";

/**
 * The HTTP API of the console's page: an origin that the page shares with nothing. Its throttle bounds the part of an account's
 * concurrency that strangers can use.
 */
export class PageApi extends Construct {
  /** `https://{api}.execute-api.{region}.amazonaws.com`, without a trailing slash. */
  readonly origin: string;

  constructor(scope: Construct, id: string, { name, page }: { name: string; page: LambdaFunction }) {
    super(scope, id);
    const api = new HttpApi(this, "Api", { apiName: `${name}-page`, createDefaultStage: false });
    const route = new HttpRoute(this, "Route", {
      httpApi: api,
      routeKey: HttpRouteKey.DEFAULT,
      integration: new HttpLambdaIntegration("Page", page),
    });
    Validations.of(route).acknowledge({
      id: "AwsSolutions-APIG4",
      reason: "The page's files are public. Who uses the gateway is checked at its WebSocket API.",
    });
    const stage = new HttpStage(this, "Stage", {
      httpApi: api,
      autoDeploy: true,
      throttle: { rateLimit: 20, burstLimit: 40 },
    });
    Validations.of(stage).acknowledge({
      id: "AwsSolutions-APIG1",
      reason: "The page function logs a line for every request.",
    });
    this.origin = api.apiEndpoint;
  }
}
