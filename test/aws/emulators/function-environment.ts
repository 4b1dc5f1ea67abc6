import * as names from "../../../local/cloud-names.ts";
import { arn, region } from "../../../local/http/aws-account.ts";
import { functionArn } from "../../../local/lambda/host.ts";

export const deadLetterArn = arn("sqs", "gsv-local-dead-letters");

/** Addresses of the emulated services and of the functions' two endpoints. */
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
  /** The page's origin. */
  page: string;
}

/** The environment of the functions: the stack's variables, and the local endpoints for the SDK. */
export function functionEnvironment(urls: EndpointUrls): Record<string, string> {
  return {
    TABLE_NAME: names.tableName,
    BUCKET_NAME: names.bucketName,
    STAGE: "local",
    AGENT_FUNCTION: functionArn("agent"),
    TIMER_FUNCTION_ARN: functionArn("timer"),
    SCHEDULE_GROUP: names.scheduleGroup,
    SCHEDULE_ROLE_ARN: names.scheduleRoleArn,
    DEAD_LETTER_ARN: deadLetterArn,
    SSM_PREFIX: names.ssmPrefix,
    WEBSOCKET_API_ENDPOINT: `${urls.connections}/${names.webSocketStage}`,
    WEBHOOK_URL: `${urls.webhook}/`,
    PAGE_ORIGINS: urls.page,
    AWS_ENDPOINT_URL_DYNAMODB: urls.dynamodb,
    AWS_ENDPOINT_URL_S3: urls.s3,
    AWS_ENDPOINT_URL_SCHEDULER: urls.scheduler,
    AWS_ENDPOINT_URL_LAMBDA: urls.lambda,
    AWS_ENDPOINT_URL_SSM: urls.ssm,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: "LOCAL",
    AWS_SECRET_ACCESS_KEY: "local",
    AWS_LAMBDA_INITIALIZATION_TYPE: "on-demand",
    AWS_EC2_METADATA_DISABLED: "true",
    // The emulators may run on an older Node than the deployed functions; the SDK would warn about it.
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
  };
}
