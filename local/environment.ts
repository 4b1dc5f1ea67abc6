import { arn, region, roleArn } from "./http/account.ts";
import { functionArn } from "./lambda/host.ts";

export const tableName = "gsv-local";
export const bucketName = "gsv-storage";
/** The lifecycle of the bucket, as far as it removes objects. */
export const expirations = [{ prefix: "payloads/", days: 1 }];
export const stageName = "local";
export const scheduleGroup = "gsv-local";
export const scheduleRoleArn = roleArn("gsv-local-schedule");
export const deadLetterArn = arn("sqs", "gsv-local-dead-letters");
export const ssmPrefix = "/gsv/local";
/** Stage and id of the WebSocket API. */
export const webSocketStage = "ws";
export const webSocketApiId = "local";

/** Where the local cloud's endpoints are. */
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

/** The environment of the functions: what the stack sets, and the SDK pointed at the local endpoints. */
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
    // The functions are deployed on a newer Node than the oldest that local mode runs on.
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
  };
}
