import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type ListedTool, type McpTestServer, startMcpServer } from "./mcp-server.ts";

export interface OAuthTestServer extends McpTestServer {
  /** The bodies of token requests, in order. */
  tokenRequests: URLSearchParams[];
  /** Opens the address of a login as a browser whose owner agrees. @returns the address to which it is sent back */
  agree(address: string): URL;
  /** Ends the present access token. */
  expire(): void;
  /** Ends the present refresh token. */
  revoke(): void;
}

/** An MCP server that is its own authorization server: PKCE, rotating refresh tokens, registration by the client. */
export async function startOAuthServer(
  tools: ListedTool[],
  { expiresIn = 3600, tokenMs = 0 }: { expiresIn?: number; tokenMs?: number } = {},
): Promise<OAuthTestServer> {
  const tokenRequests: URLSearchParams[] = [];
  const codes = new Map<string, { challenge: string; redirect: string }>();
  let count = 0;
  let access = "none";
  let refresh = "none";
  const json = (response: ServerResponse, body: unknown, status = 200) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    return true;
  };
  const grant = (form: URLSearchParams): Record<string, unknown> => {
    if (form.get("grant_type") === "refresh_token") {
      if (form.get("refresh_token") !== refresh) return { error: "invalid_grant" };
    } else {
      const asked = codes.get(form.get("code") ?? "");
      codes.delete(form.get("code") ?? "");
      const challenge = createHash("sha256")
        .update(form.get("code_verifier") ?? "")
        .digest("base64url");
      if (asked?.challenge !== challenge || asked.redirect !== form.get("redirect_uri"))
        return { error: "invalid_grant" };
    }
    count++;
    access = `access-${count}`;
    refresh = `refresh-${count}`;
    return { access_token: access, refresh_token: refresh, token_type: "Bearer", expires_in: expiresIn };
  };
  const before = async (
    request: IncomingMessage,
    response: ServerResponse,
    body: string,
  ): Promise<boolean> => {
    switch (request.url) {
      case "/.well-known/oauth-protected-resource/mcp":
        return json(response, { resource: server.url, authorization_servers: [server.origin] });
      case "/.well-known/oauth-authorization-server":
        return json(response, {
          issuer: server.origin,
          authorization_endpoint: `${server.origin}/authorize`,
          token_endpoint: `${server.origin}/token`,
          registration_endpoint: `${server.origin}/register`,
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
        });
      case "/register":
        return json(response, { ...(JSON.parse(body) as object), client_id: "registered" }, 201);
      case "/token": {
        const form = new URLSearchParams(body);
        tokenRequests.push(form);
        if (tokenMs > 0) await new Promise((done) => setTimeout(done, tokenMs));
        const granted = grant(form);
        return json(response, granted, "error" in granted ? 400 : 200);
      }
      default:
        return false;
    }
  };
  const server = await startMcpServer({ tools, token: () => access, before });
  return Object.assign(server, {
    tokenRequests,
    agree(address: string) {
      const { searchParams, origin } = new URL(address);
      if (origin !== server.origin) throw new Error(`asked at ${origin}`);
      const code = `code-${codes.size}-${count}`;
      const redirect = searchParams.get("redirect_uri") ?? "";
      codes.set(code, { challenge: searchParams.get("code_challenge") ?? "", redirect });
      const back = new URL(redirect);
      back.searchParams.set("code", code);
      back.searchParams.set("state", searchParams.get("state") ?? "");
      return back;
    },
    expire: () => {
      access = "expired";
    },
    revoke: () => {
      refresh = "revoked";
    },
  });
}
