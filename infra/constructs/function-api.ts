import { Validations } from "aws-cdk-lib";
import { HttpApi, HttpRoute, HttpRouteKey, HttpStage } from "aws-cdk-lib/aws-apigatewayv2";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";

export interface FunctionApiProps {
  name: string;
  /** Answers every request. */
  lambda: LambdaFunction;
  requestsPerSecond: number;
  /** Why API Gateway checks no caller. */
  open: string;
}

/**
 * An HTTP API of one function: an origin that it shares with nothing. Its throttle bounds the part of an account's concurrency
 * that strangers can use. It costs nothing while idle.
 */
export class FunctionApi extends Construct {
  /** `https://{api}.execute-api.{region}.amazonaws.com`, without a trailing slash. */
  readonly origin: string;

  constructor(scope: Construct, id: string, { name, lambda, requestsPerSecond, open }: FunctionApiProps) {
    super(scope, id);
    const api = new HttpApi(this, "Api", { apiName: name, createDefaultStage: false });
    const route = new HttpRoute(this, "Route", {
      httpApi: api,
      routeKey: HttpRouteKey.DEFAULT,
      integration: new HttpLambdaIntegration("Function", lambda),
    });
    Validations.of(route).acknowledge({ id: "AwsSolutions-APIG4", reason: open });
    const stage = new HttpStage(this, "Stage", {
      httpApi: api,
      autoDeploy: true,
      throttle: { rateLimit: requestsPerSecond, burstLimit: 2 * requestsPerSecond },
    });
    Validations.of(stage).acknowledge({
      id: "AwsSolutions-APIG1",
      reason: "The function logs a line for every request.",
    });
    this.origin = api.apiEndpoint;
  }
}
