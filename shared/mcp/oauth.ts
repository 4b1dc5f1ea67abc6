// Loaded only when somebody logs in or a token is refreshed.
import {
  auth,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  OAuthError,
  type OAuthTokens,
  refreshAuthorization,
} from "@modelcontextprotocol/client";
import { createGuardedRequest, type GuardedRequest } from "../http/guarded-request.ts";
import { clientMetadata } from "./login-return.ts";
import { McpFault, wordsOf } from "./mcp-fault.ts";

/** The longest request to an authorization server, in milliseconds. */
const oauthMs = 20_000;

type Discovery = Awaited<ReturnType<NonNullable<OAuthClientProvider["discoveryState"]>>>;

/** Whom a login was made with: what later refreshes need, without any secret. */
export interface OAuthFacts {
  client: OAuthClientInformationMixed;
  discovery: Discovery;
  resource?: string;
}

/** The tokens of a login. `expiresIn`: seconds; absent: the server does not say. */
export interface Tokens {
  accessToken: string;
  refreshToken?: string;
  clientSecret?: string;
  expiresIn?: number;
}

/** A login that has begun, until the browser returns. */
export interface StartedLogin {
  /** The address that the owner opens. */
  address: string;
  verifier: string;
  facts: OAuthFacts;
}

/** A server to log in at, and where the browser returns. */
export interface LoginServer {
  name: string;
  url: string;
  callback: string;
  request?: GuardedRequest;
}

/**
 * Begins a login: finds the server's authorization server, and registers the gateway there unless that reads its metadata document.
 * @param state single-use
 * @throws McpFault
 */
export async function startLogin(
  server: LoginServer,
  state: string,
  documentUrl: string | undefined,
): Promise<StartedLogin> {
  const kept: Partial<StartedLogin> & Partial<OAuthFacts> = {};
  const provider: OAuthClientProvider = {
    ...providerOf(server, kept),
    ...(documentUrl === undefined ? {} : { clientMetadataUrl: documentUrl }),
    state: () => state,
  };
  try {
    await auth(provider, { serverUrl: server.url, fetchFn: limited(server) });
  } catch (error) {
    throw loginFault(server.name, error);
  }
  const { address, verifier, client, discovery, resource } = kept;
  if (address === undefined || verifier === undefined || !client)
    throw new McpFault(
      `${server.name} offers no login: if it needs a token, set mcp.servers.${server.name}.auth.token`,
    );
  return { address, verifier, facts: { client, discovery, ...(resource === undefined ? {} : { resource }) } };
}

/** Exchanges the code that the browser brought for tokens. @throws McpFault */
export async function finishLogin(
  server: LoginServer,
  { verifier, facts }: Pick<StartedLogin, "verifier" | "facts">,
  { code, issuer }: { code: string; issuer?: string },
): Promise<Tokens> {
  const kept: Partial<OAuthFacts> & { verifier: string; tokens?: OAuthTokens } = { ...facts, verifier };
  try {
    const options = { serverUrl: server.url, authorizationCode: code, fetchFn: limited(server) };
    await auth(providerOf(server, kept), { ...options, ...(issuer === undefined ? {} : { iss: issuer }) });
  } catch (error) {
    throw loginFault(server.name, error);
  }
  if (!kept.tokens)
    throw new McpFault(`${server.name} gave no token: run gsv mcp login ${server.name} again`);
  const { client_secret: secret } = facts.client as { client_secret?: string };
  return { ...toTokens(kept.tokens), ...(secret === undefined ? {} : { clientSecret: secret }) };
}

/** Exchanges a refresh token. @throws McpFault; `needsLogin` when the token is not valid any more */
export async function refreshTokens(
  server: Omit<LoginServer, "callback">,
  { client, discovery, resource }: OAuthFacts,
  refreshToken: string,
  clientSecret: string | undefined,
): Promise<Tokens> {
  const issuer = discovery?.authorizationServerUrl;
  if (issuer === undefined) throw loginFault(server.name, new Error("its authorization server is unknown"));
  const metadata = discovery?.authorizationServerMetadata;
  try {
    const tokens = await refreshAuthorization(issuer, {
      ...(metadata ? { metadata } : {}),
      clientInformation: {
        ...client,
        ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
      },
      refreshToken,
      ...(resource === undefined ? {} : { resource }),
      fetchFn: limited(server),
    });
    return toTokens(tokens);
  } catch (error) {
    throw loginFault(server.name, error);
  }
}

/** Keeps in `kept` what the flow finds out. */
function providerOf(
  { callback }: LoginServer,
  kept: Partial<OAuthFacts> & { address?: string; verifier?: string; tokens?: OAuthTokens },
): OAuthClientProvider {
  return {
    redirectUrl: callback,
    clientMetadata: clientMetadata(callback),
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void Object.assign(kept, { client }),
    tokens: () => undefined,
    saveTokens: (tokens) => void Object.assign(kept, { tokens }),
    redirectToAuthorization: (url) => {
      const resource = url.searchParams.get("resource");
      Object.assign(kept, { address: url.href, ...(resource === null ? {} : { resource }) });
    },
    saveCodeVerifier: (verifier) => void Object.assign(kept, { verifier }),
    codeVerifier: () => kept.verifier ?? "",
    saveDiscoveryState: (discovery) => void Object.assign(kept, { discovery }),
    discoveryState: () => kept.discovery,
  };
}

function toTokens({ access_token, refresh_token, expires_in }: OAuthTokens): Tokens {
  return {
    accessToken: access_token,
    ...(refresh_token === undefined ? {} : { refreshToken: refresh_token }),
    ...(expires_in === undefined ? {} : { expiresIn: Number(expires_in) }),
  };
}

function limited({
  url,
  request = createGuardedRequest(new URL(url).origin),
}: Omit<LoginServer, "callback">) {
  return (address: string | URL, init: RequestInit = {}) =>
    request(address, { ...init, signal: init.signal ?? AbortSignal.timeout(oauthMs) });
}

function loginFault(name: string, error: unknown): McpFault {
  if (error instanceof McpFault) return error;
  const said = wordsOf(error instanceof Error ? error.message : error);
  // The authorization server has answered: the same request would get the same answer.
  if (error instanceof OAuthError)
    return new McpFault(`the login at ${name} is refused (${said}): run gsv mcp login ${name}`, {
      needsLogin: true,
    });
  return new McpFault(
    `the login at ${name} did not work (${said}): run gsv mcp login ${name}, or try later`,
    {
      isPassing: true,
    },
  );
}
