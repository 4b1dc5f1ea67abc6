import { CfnOutput } from "aws-cdk-lib";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import { Construct } from "constructs";

/** Addresses and names of a deployed stage, for its owner and the command line. */
export interface PublishedValues {
  WebSocketUrl: string;
  WebhookUrl: string;
  TableName: string;
  BucketName: string;
}

const parameterNames: Record<keyof PublishedValues, string> = {
  WebSocketUrl: "websocket-url",
  WebhookUrl: "webhook-url",
  TableName: "table-name",
  BucketName: "bucket-name",
};

/** Publishes each value twice: as a stack output, and as an SSM parameter `{prefix}/websocket-url` and so on. */
export function publishValues(scope: Construct, prefix: string, values: PublishedValues): void {
  const parameters = new Construct(scope, "Parameters");
  for (const name of Object.keys(parameterNames) as (keyof PublishedValues)[]) {
    new StringParameter(parameters, name, {
      parameterName: `${prefix}/${parameterNames[name]}`,
      stringValue: values[name],
    });
    new CfnOutput(scope, name, { value: values[name] });
  }
}
