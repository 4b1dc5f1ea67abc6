import type { IncomingMessage } from "node:http";
import { readBody, sendJson, serveLoopback } from "../../../local/http/loopback.ts";

/** How to refuse a call. `type`: the name of the error, as in AWS's header. */
export interface BedrockRefusal {
  status: number;
  type: string;
  message: string;
}

export interface RefusingBedrock {
  /** The base URL for a model's configuration. */
  origin: string;
  close(): Promise<void>;
}

/** A Bedrock server that refuses every call. Puts credentials for it into this process's environment. */
export async function startRefusingBedrock(
  refuse: (request: IncomingMessage, body: string) => BedrockRefusal,
): Promise<RefusingBedrock> {
  const saved = { ...process.env };
  const server = await serveLoopback(async (request, response) => {
    const { status, type, message } = refuse(request, String(await readBody(request, 1_000_000)));
    sendJson(response, status, { message }, { "x-amzn-errortype": type });
  });
  Object.assign(process.env, {
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_BEDROCK_FORCE_HTTP1: "1",
  });
  return {
    origin: server.origin,
    async close() {
      process.env = saved;
      await server.close();
    },
  };
}
