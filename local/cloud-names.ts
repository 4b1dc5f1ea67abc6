import { roleArn } from "./http/aws-account.ts";

export const tableName = "gsv-local";
export const bucketName = "gsv-storage";
/** The expiration rules of the bucket's lifecycle. */
export const expirations = [{ prefix: "payloads/", days: 1 }];
export const scheduleGroup = "gsv-local";
export const scheduleRoleArn = roleArn("gsv-local-schedule");
export const ssmPrefix = "/gsv/local";
/** Stage and id of the WebSocket API. */
export const webSocketStage = "ws";
export const webSocketApiId = "local";
