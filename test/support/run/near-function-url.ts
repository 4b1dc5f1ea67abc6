import {
  answerByFunction,
  type FunctionUrlOptions,
  startFunctionUrl,
} from "../../../local/http/function-url.ts";
import type { Endpoint } from "../../../local/http/http-endpoint.ts";
import { answerInProcess, type InProcessAnswer } from "./in-process-fetch.ts";

/** Above this the endpoint may refuse a body, which is left to it. In characters. */
const longBody = 1_000_000;

/** A Lambda function URL, which `fetch` in this process reaches without a connection. */
export async function startNearFunctionUrl(options: FunctionUrlOptions): Promise<Endpoint> {
  const endpoint = await startFunctionUrl(options);
  const answer: InProcessAnswer = async ({ method, url, headers, body }) => {
    if (body.length > longBody) return { headers: {} };
    const response = await answerByFunction(
      {
        ...{ method, path: url.pathname, rawQuery: url.search.slice(1), sourceIp: "127.0.0.1" },
        ...{ headers: { host: url.host, ...headers }, body: Buffer.from(body) },
      },
      options,
    );
    const { status, body: text } = response;
    const sent = Object.entries(response.headers ?? {}).flatMap(([name, values]) =>
      [values].flat().map((value): [string, string] => [name, value]),
    );
    return new Response(status === 204 ? null : text, { status, headers: sent });
  };
  const endInProcess = answerInProcess(endpoint.url, { started() {}, answer, ended() {} });
  return {
    ...endpoint,
    close: () => {
      endInProcess();
      return endpoint.close();
    },
  };
}
