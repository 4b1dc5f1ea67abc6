import type { LambdaFunctionURLEvent } from "aws-lambda";
import { bearerOf, bodyText, type HttpAnswer, jsonAnswer } from "../../shared/http/http-answer.ts";
import { type GatewayLink, linkToGateway } from "../../shared/peers/gateway-link.ts";
import { code, PeerError } from "../../shared/protocol/errors.ts";
import { watchInvocations } from "../../shared/runtime/faults.ts";
import { wrapHandler } from "../../shared/runtime/handler.ts";
import type { World } from "../../shared/world/world.ts";
import { type ChatRequest, readChatRequest } from "./chat-request.ts";
import { completionEvents, errorAnswer, wholeCompletion } from "./openai-answer.ts";
import { beginRun } from "./run-text.ts";

type OpenaiWorld = Pick<World, "gatewayUrl" | "table" | "now">;

/** The handler of the endpoint that clients of OpenAI's API use, for its function URL. */
export function createOpenaiHandler(world: OpenaiWorld) {
  return wrapHandler<LambdaFunctionURLEvent, HttpAnswer>("openai", (event) => answerOpenai(world, event), {
    fields: ({ requestContext }) => ({
      method: requestContext.http.method,
      path: requestContext.http.path.slice(0, 64),
    }),
    onError: errorAnswer,
    watch: watchInvocations(world.table, "openai", world.now),
  });
}

/** Answers one request. Its token decides what it may do: this function only translates. */
async function answerOpenai(world: OpenaiWorld, event: LambdaFunctionURLEvent): Promise<HttpAnswer> {
  try {
    return await route(world, event);
  } catch (error) {
    return errorAnswer(error);
  }
}

async function route(world: OpenaiWorld, event: LambdaFunctionURLEvent): Promise<HttpAnswer> {
  const { method } = event.requestContext.http;
  const path = event.rawPath.replace(/\/+$/, "");
  const [, named] = /^\/v1\/models(?:\/([^/]+))?$/.exec(path) ?? [];
  const isModels = method === "GET" && /^\/v1\/models(\/|$)/.test(path);
  if (!isModels && !(method === "POST" && path === "/v1/chat/completions"))
    return jsonAnswer(404, {
      error: {
        message: `there is no ${method} ${path.slice(0, 100)}; this gateway has POST /v1/chat/completions and GET /v1/models`,
        type: "invalid_request_error",
        param: null,
        code: "unknown_url",
      },
    });
  const token = bearerOf(event);
  if (token === undefined)
    throw new PeerError(code.unauthorized, "expected a token of this gateway: Authorization: Bearer gsv_…");
  // Before the connection: a malformed request costs nothing else.
  const request = isModels ? undefined : readChatRequest(bodyText(event), event.headers);
  const link = await linkToGateway(world.gatewayUrl, token, { name: "openai", mode: "client" });
  if (request) return complete(world, link, request);
  try {
    return modelsAnswer(await agentsOf(link), named);
  } finally {
    link.close();
  }
}

async function complete(
  world: Pick<OpenaiWorld, "now">,
  link: GatewayLink,
  request: ChatRequest,
): Promise<HttpAnswer> {
  let isStreaming = false;
  try {
    const agent = agentNamed(await agentsOf(link), request.model);
    const pieces = await beginRun(link, `agent:${agent}:${request.session}`, request);
    const head = {
      id: `chatcmpl-${request.runId}`,
      created: Math.floor(world.now() / 1000),
      model: request.model,
    };
    if (!request.isStreamed) return await wholeCompletion(head, pieces);
    isStreaming = true;
    const body = leaving(completionEvents(head, pieces, request.hasUsage), () => link.close());
    return {
      statusCode: 200,
      headers: { "content-type": "text/event-stream", "cache-control": "no-cache" },
      body,
    };
  } finally {
    if (!isStreaming) link.close();
  }
}

/** The pieces; `leave` is called at the end of their loop, and at once when the client leaves. */
function leaving<T>(pieces: AsyncGenerator<T>, leave: () => void): AsyncIterable<T> {
  const next = async () => {
    const result = await pieces.next();
    if (result.done) leave();
    return result;
  };
  const end = () => {
    leave();
    return pieces.return(undefined);
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}

/** The ids of the gateway's agents, the default one first. */
async function agentsOf(link: GatewayLink): Promise<string[]> {
  const found = await link.request("config.get", { path: "agents.list" });
  const listed = "value" in found && Array.isArray(found.value) ? (found.value as ListedAgent[]) : [];
  const byDefault = listed.find((agent) => agent.default)?.id ?? "main";
  return [...new Set([byDefault, ...listed.map(({ id }) => id)])];
}

interface ListedAgent {
  id: string;
  default?: boolean;
}

/** @throws PeerError 404 */
function agentNamed(agents: readonly string[], model: string): string {
  const agent = agents.find((id) => id === model.toLowerCase());
  if (agent !== undefined) return agent;
  throw new PeerError(
    code.notFound,
    `model: there is no agent ${JSON.stringify(model)}; use ${agents.join(" or ")}`,
  );
}

function modelsAnswer(agents: readonly string[], named: string | undefined): HttpAnswer {
  const modelOf = (id: string) => ({ id, object: "model", created: 0, owned_by: "gsv" });
  if (named !== undefined) return jsonAnswer(200, modelOf(agentNamed(agents, named)));
  return jsonAnswer(200, { object: "list", data: agents.map(modelOf) });
}
