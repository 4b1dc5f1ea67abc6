import { arn, region, roleArn } from "./http/aws-account.ts";
import { functionArn } from "./lambda/host.ts";

export const tableName = "gsv-local";
export const bucketName = "gsv-storage";
/** The expiration rules of the bucket's lifecycle. */
export const expirations = [{ prefix: "payloads/", days: 1 }];
export const stageName = "local";
export const scheduleGroup = "gsv-local";
export const scheduleRoleArn = roleArn("gsv-local-schedule");
export const deadLetterArn = arn("sqs", "gsv-local-dead-letters");
export const ssmPrefix = "/gsv/local";
/** Stage and id of the WebSocket API. */
export const webSocketStage = "ws";
export const webSocketApiId = "local";

/** Endpoints of the local cloud. */
export interface EndpointUrls {
  dynamodb: string;
  s3: string;
  scheduler: string;
  lambda: string;
  ssm: string;
  /** Of the WebSocket API's host, `http:`, without the stage. */
  connections: string;
  /** Of the webhook function, without a trailing slash. */
  webhook: string;
}

/** The environment of the functions: the stack's variables, and the local endpoints for the SDK. */
export function functionEnvironment(urls: EndpointUrls): Record<string, string> {
  return {
    TABLE_NAME: tableName,
    BUCKET_NAME: bucketName,
    STAGE: stageName,
    AGENT_FUNCTION: functionArn("agent"),
    TIMER_FUNCTION_ARN: functionArn("timer"),
    SCHEDULE_GROUP: scheduleGroup,
    SCHEDULE_ROLE_ARN: scheduleRoleArn,
    DEAD_LETTER_ARN: deadLetterArn,
    SSM_PREFIX: ssmPrefix,
    WEBSOCKET_API_ENDPOINT: `${urls.connections}/${webSocketStage}`,
    WEBHOOK_URL: `${urls.webhook}/`,
    AWS_ENDPOINT_URL_DYNAMODB: urls.dynamodb,
    AWS_ENDPOINT_URL_S3: urls.s3,
    AWS_ENDPOINT_URL_SCHEDULER: urls.scheduler,
    AWS_ENDPOINT_URL_LAMBDA: urls.lambda,
    AWS_ENDPOINT_URL_SSM: urls.ssm,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: "LOCAL",
    AWS_SECRET_ACCESS_KEY: "local",
    AWS_EC2_METADATA_DISABLED: "true",
    // Local mode may run on an older Node than the deployed functions; the SDK would warn about it.
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
  };
}
