import type { LambdaFunctionURLEvent } from "aws-lambda";
import type { GuardedFetch } from "../../../shared/http/guarded-fetch.ts";
import { bodyText, type HttpAnswer, jsonAnswer } from "../../../shared/http/http-answer.ts";
import {
  collectCode,
  exchangeCode,
  openRequest,
  type ProgramTokens,
  readRequest,
  renewTokens,
} from "../../../shared/peers/program-grants.ts";
import type { Scope } from "../../../shared/protocol/methods.ts";
import type { World } from "../../../shared/world/world.ts";
import { faultPage, waitPage } from "./authorize-page.ts";
import { findClient, type ProgramClient, registerClient } from "./program-client.ts";

export interface OAuthContext extends Pick<World, "table" | "now"> {
  fetch: GuardedFetch;
}

/** Scopes that a program may ask for. */
export const programScopes = ["mcp", "mcp:nodes"] as const satisfies Scope[];

const noStore = { "cache-control": "no-store" };

/** Longest `state` of a program, in characters. */
const maxState = 2000;

type Answer = (
  context: OAuthContext,
  event: LambdaFunctionURLEvent,
  origin: string,
) => Promise<HttpAnswer> | HttpAnswer;

/** The gateway as an authorization server (OAuth 2.1), by method and path. */
export const oauthRoutes: Readonly<Record<string, Answer>> = {
  "GET /.well-known/oauth-protected-resource": (_context, _event, origin) =>
    jsonAnswer(200, resourceOf(origin)),
  "GET /.well-known/oauth-protected-resource/mcp": (_context, _event, origin) =>
    jsonAnswer(200, resourceOf(origin)),
  "GET /.well-known/oauth-authorization-server": (_context, _event, origin) =>
    jsonAnswer(200, serverOf(origin)),
  "POST /oauth/register": (_context, event) => register(event),
  "GET /oauth/authorize": authorize,
  "GET /oauth/wait": wait,
  "POST /oauth/token": token,
};

/** RFC 9728. */
function resourceOf(origin: string): object {
  return {
    resource: `${origin}/mcp`,
    authorization_servers: [origin],
    scopes_supported: programScopes,
    bearer_methods_supported: ["header"],
    resource_name: "gsv",
  };
}

/** RFC 8414. */
function serverOf(origin: string): object {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/oauth/authorize`,
    token_endpoint: `${origin}/oauth/token`,
    registration_endpoint: `${origin}/oauth/register`,
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    scopes_supported: programScopes,
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  };
}

function register(event: LambdaFunctionURLEvent): HttpAnswer {
  const client = registerClient(jsonOf(bodyText(event)));
  if ("fault" in client) return oauthError("invalid_client_metadata", client.fault);
  const { clientId, name, redirectUris } = client;
  const answer = {
    client_id: clientId,
    client_name: name,
    redirect_uris: redirectUris,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  return jsonAnswer(201, answer, noStore);
}

async function authorize(
  context: OAuthContext,
  { rawQueryString }: LambdaFunctionURLEvent,
  origin: string,
): Promise<HttpAnswer> {
  const query = new URLSearchParams(rawQueryString);
  const client = await findClient(context.fetch, query.get("client_id") ?? "");
  if ("fault" in client) return faultPage(client.fault);
  const redirectUri = query.get("redirect_uri") ?? "";
  // Until here a fault must not be sent to the address: it is not known to be the program's.
  if (!client.redirectUris.includes(redirectUri))
    return faultPage("redirect_uri: it is not one of the program's addresses");
  const state = query.get("state") ?? undefined;
  const fault = faultOf(query, origin);
  if (fault) return redirect(redirectUri, { ...fault, state, iss: origin });
  const { code, secret } = await openRequest(
    context.table,
    grantRequest(client, query, redirectUri),
    context.now(),
  );
  return waitPage(
    { name: client.name, redirectUri },
    code,
    `/oauth/wait?${new URLSearchParams({ code, secret })}`,
  );
}

function grantRequest(client: ProgramClient, query: URLSearchParams, redirectUri: string) {
  const state = query.get("state");
  return {
    clientId: client.clientId,
    clientName: client.name,
    redirectUri,
    challenge: query.get("code_challenge") ?? "",
    scopes: scopesIn(query),
    ...(state === null ? {} : { state }),
  };
}

/** The scopes that a request names; `mcp` for one that names none. */
function scopesIn(query: URLSearchParams): Scope[] {
  const named = (query.get("scope") ?? "mcp").split(" ");
  return programScopes.filter((scope) => named.includes(scope));
}

/** Why a request cannot be approved; undefined if it can. */
function faultOf(query: URLSearchParams, origin: string): Record<string, string> | undefined {
  const fault = (error: string, error_description: string) => ({ error, error_description });
  if (query.get("response_type") !== "code") return fault("unsupported_response_type", "expected code");
  if (query.get("code_challenge_method") !== "S256" || !/^[\w-]{43}$/.test(query.get("code_challenge") ?? ""))
    return fault("invalid_request", "expected a code_challenge with the method S256");
  if ((query.get("state") ?? "").length > maxState) return fault("invalid_request", "state: too long");
  if (!isOwnResource(query.get("resource"), origin))
    return fault("invalid_target", "resource: another gateway's");
  if (scopesIn(query).length === 0) return fault("invalid_scope", `expected ${programScopes.join(" or ")}`);
  return undefined;
}

/** RFC 8707: tokens of this gateway are for this gateway. */
function isOwnResource(resource: string | null, origin: string): boolean {
  return resource === null || [origin, `${origin}/mcp`].includes(resource.replace(/\/$/, ""));
}

async function wait(
  { table, now }: OAuthContext,
  { rawQueryString }: LambdaFunctionURLEvent,
  origin: string,
): Promise<HttpAnswer> {
  const query = new URLSearchParams(rawQueryString);
  const [code, secret] = [query.get("code") ?? "", query.get("secret") ?? ""];
  const found = await collectCode(table, { code, secret }, now());
  if (found === "unknown") return faultPage("It has ended. Begin again in the program.");
  if (found === "waiting") return stillWaiting(table, code, `/oauth/wait?${query}`, now());
  const { redirectUri, ...answer } = found;
  return redirect(redirectUri, { ...answer, iss: origin });
}

async function stillWaiting(
  table: OAuthContext["table"],
  code: string,
  next: string,
  now: number,
): Promise<HttpAnswer> {
  return waitPage(await readRequest(table, code, now), code, next);
}

async function token(
  { table, now }: OAuthContext,
  event: LambdaFunctionURLEvent,
  origin: string,
): Promise<HttpAnswer> {
  const form = new URLSearchParams(bodyText(event));
  const field = (name: string) => form.get(name) ?? "";
  if (!isOwnResource(form.get("resource"), origin))
    return oauthError("invalid_target", "resource: another gateway's");
  switch (field("grant_type")) {
    case "authorization_code": {
      const given = {
        code: field("code"),
        clientId: field("client_id"),
        redirectUri: field("redirect_uri"),
        verifier: field("code_verifier"),
      };
      return tokensAnswer(await exchangeCode(table, given, now()));
    }
    case "refresh_token": {
      const given = { refreshToken: field("refresh_token"), clientId: field("client_id") };
      return tokensAnswer(await renewTokens(table, given, now()));
    }
    default:
      return oauthError("unsupported_grant_type", "expected authorization_code or refresh_token");
  }
}

function tokensAnswer(tokens: ProgramTokens | undefined): HttpAnswer {
  if (!tokens) return oauthError("invalid_grant", "the code or refresh token is wrong, used or expired");
  const answer = {
    access_token: tokens.accessToken,
    token_type: "Bearer",
    expires_in: tokens.expiresIn,
    refresh_token: tokens.refreshToken,
    scope: tokens.scopes.join(" "),
  };
  return jsonAnswer(200, answer, noStore);
}

function oauthError(error: string, error_description: string): HttpAnswer {
  return jsonAnswer(400, { error, error_description }, noStore);
}

function redirect(uri: string, fields: Record<string, string | undefined>): HttpAnswer {
  const target = new URL(uri);
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined) target.searchParams.set(name, value);
  return { statusCode: 302, headers: { location: target.href, ...noStore }, body: "" };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
