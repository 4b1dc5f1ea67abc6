import { fileURLToPath } from "node:url";
import { readEnvironment } from "../../shared/runtime/environment.ts";
import { createPageHandler } from "./page-handler.ts";

const { webSocketApiEndpoint, bucketName } = readEnvironment();
const folder = fileURLToPath(new URL("page", import.meta.url));
/** The endpoint's host is `{api}.execute-api.{region}.amazonaws.com`. */
const region = new URL(webSocketApiEndpoint).hostname.split(".")[2];

export const handler = createPageHandler(async () => folder, {
  ws: webSocketApiEndpoint.replace(/^http/, "ws"),
  objects: `https://${bucketName}.s3.${region}.amazonaws.com`,
});
