import * as sdk from "@modelcontextprotocol/server";
import type { LambdaFunctionURLEvent } from "aws-lambda";
import { createGuardedFetch, type GuardedFetch } from "../../shared/http/guarded-fetch.ts";
import { bearerOf, bodyText, type HttpAnswer, jsonAnswer } from "../../shared/http/http-answer.ts";
import { type GatewayLink, linkToGateway } from "../../shared/peers/gateway-link.ts";
import { createTokenVerifier, type TokenHolder } from "../../shared/peers/tokens.ts";
import type { Scope } from "../../shared/protocol/methods.ts";
import { watchInvocations } from "../../shared/runtime/faults.ts";
import { wrapHandler } from "../../shared/runtime/handler.ts";
import { logError } from "../../shared/runtime/log.ts";
import type { World } from "../../shared/world/world.ts";
import { createProgramServer, type ProgramRequest } from "./mcp-server.ts";
import { oauthRoutes, programScopes } from "./oauth/authorization-server.ts";
import { limitRate } from "./request-rate.ts";

type McpWorld = Pick<World, "gatewayUrl" | "table" | "now" | "pause">;

/** The handler of the address at which programs use the agent through MCP. @param fetch downloads what programs say of themselves */
export function createMcpHandler(world: McpWorld, fetch = createGuardedFetch()) {
  const answer = openMcp(world, fetch);
  return wrapHandler<LambdaFunctionURLEvent, HttpAnswer>("mcp", answer, {
    fields: ({ requestContext, rawPath }) => ({
      method: requestContext.http.method,
      path: rawPath.slice(0, 64),
    }),
    onError: () => rpcError(500, sdk.ProtocolErrorCode.InternalError, "internal error"),
    watch: watchInvocations(world.table, "mcp", world.now),
  });
}

/** The scopes that allow to use the agent, and the tools of nodes. */
const agentScopes: readonly Scope[] = ["mcp", "client", "admin"];
const nodeScopes: readonly Scope[] = ["mcp:nodes", "client", "admin"];

function openMcp(
  world: McpWorld,
  fetch: GuardedFetch,
): (event: LambdaFunctionURLEvent) => Promise<HttpAnswer> {
  // This function may not write tokens: the socket function records their use.
  const tokens = createTokenVerifier(world.table, world.now, { recordsUse: false });
  const rate = limitRate(world.now);
  const oauth = { table: world.table, now: world.now, fetch };
  return async (event) => {
    const path = event.rawPath.replace(/\/+$/, "");
    const { method, sourceIp } = event.requestContext.http;
    const route = `${method} ${path}`;
    const answer = Object.hasOwn(oauthRoutes, route) ? oauthRoutes[route] : undefined;
    if (answer) {
      const seconds = rate.count(sourceIp);
      return seconds === undefined ? answer(oauth, event, originOf(event)) : busy(seconds);
    }
    if (path !== "/mcp")
      return jsonAnswer(404, { error: `there is nothing here; the address is ${originOf(event)}/mcp` });
    const token = bearerOf(event);
    const holder = token === undefined ? undefined : await tokens.verify(token);
    if (token === undefined || holder === undefined) return challenge(event, token === undefined);
    if (!agentScopes.some((scope) => holder.scopes.includes(scope))) return tooNarrow(event);
    const seconds = rate.count(holder.id);
    return seconds === undefined ? serve(world, event, token, holder) : busy(seconds);
  };
}

/** Answers one request with a server of its own, and ends what it has opened. */
async function serve(
  world: McpWorld,
  event: LambdaFunctionURLEvent,
  token: string,
  { id, scopes }: TokenHolder,
): Promise<HttpAnswer> {
  let opened: Promise<GatewayLink> | undefined;
  const request: ProgramRequest = {
    program: id,
    mayUseNodes: nodeScopes.some((scope) => scopes.includes(scope)),
    link: () => (opened ??= linkToGateway(world.gatewayUrl, token, { name: "mcp", mode: "mcp" })),
    now: world.now,
    pause: world.pause,
  };
  // An HTTP API sends whole answers, so a subscription would never be answered.
  const handler = sdk.createMcpHandler(({ era }) => createProgramServer(request, era), {
    maxSubscriptions: 0,
    keepAliveMs: 0,
  });
  try {
    const response = await handler.fetch(toRequest(event));
    const body = await response.text();
    return { statusCode: response.status, headers: Object.fromEntries(response.headers), body };
  } finally {
    await handler.close();
    await opened?.then((link) => link.close()).catch((error: unknown) => logError("mcp.unlinked", error));
  }
}

function toRequest(event: LambdaFunctionURLEvent): Request {
  const { method } = event.requestContext.http;
  const headers = new Headers();
  for (const [name, value] of Object.entries(event.headers))
    if (value !== undefined) headers.set(name, value);
  const body = method === "POST" ? bodyText(event) : undefined;
  return new Request(`${originOf(event)}/mcp`, { method, headers, body });
}

/** The address by which the program reached this function, without a path. */
function originOf({ headers, requestContext }: LambdaFunctionURLEvent): string {
  return `${headers["x-forwarded-proto"] ?? "http"}://${headers.host ?? requestContext.domainName}`;
}

/** Tells a program where to ask for a token (RFC 9728), and for which scopes. */
function bearer(event: LambdaFunctionURLEvent, error: string): Record<string, string> {
  const metadata = `${originOf(event)}/.well-known/oauth-protected-resource/mcp`;
  const value = `Bearer resource_metadata="${metadata}", scope="${programScopes.join(" ")}"${error}`;
  return { "www-authenticate": value };
}

function challenge(event: LambdaFunctionURLEvent, isMissing: boolean): HttpAnswer {
  const message = isMissing ? "a token is needed" : "the token is unknown, was revoked or has expired";
  return jsonAnswer(401, { error: message }, bearer(event, isMissing ? "" : ', error="invalid_token"'));
}

function tooNarrow(event: LambdaFunctionURLEvent): HttpAnswer {
  const message = "the token does not have the scope mcp";
  return jsonAnswer(403, { error: message }, bearer(event, ', error="insufficient_scope"'));
}

function busy(seconds: number): HttpAnswer {
  const message = `too many requests; try again in ${seconds} s`;
  const answer = rpcError(429, sdk.ProtocolErrorCode.InternalError, message);
  return { ...answer, headers: { ...answer.headers, "retry-after": String(seconds) } };
}

function rpcError(statusCode: number, code: number, message: string): HttpAnswer {
  return jsonAnswer(statusCode, { jsonrpc: "2.0", id: null, error: { code, message } });
}
