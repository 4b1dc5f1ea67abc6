import { createHash, randomBytes } from "node:crypto";
import {
  auth,
  Client,
  type OAuthClientProvider,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exchangeCode, renewTokens } from "../../shared/peers/program-grants.ts";
import { createTokenVerifier, listTokens, revokeToken } from "../../shared/peers/tokens.ts";
import { openClient, type Peer } from "../support/peer.ts";
import { seededRandom } from "../support/random.ts";
import { type Served, serve, textOf } from "./programs.ts";

const redirectUri = "http://127.0.0.1:7777/callback";

let served: Served;
let origin: string;
let owner: Peer;
beforeAll(async () => {
  served = await serve(({ turns }) => ({ text: [`heard: ${turns.at(-1)?.text}`] }));
  origin = new URL(served.dev.cloud.mcp).origin;
  owner = await openClient(served.dev.url, (await served.dev.createAdmin()).token, "owner");
});
afterAll(async () => {
  await owner?.close();
  await served?.close();
});

/** A program's state, and the browser that it opens. */
function openProvider(): OAuthClientProvider & { opened?: URL; held?: OAuthTokens } {
  let verifier = "";
  let client: { client_id: string } | undefined;
  return {
    redirectUrl: redirectUri,
    clientMetadata: { client_name: "Editor <b>", redirect_uris: [redirectUri] },
    clientInformation: () => client,
    saveClientInformation(saved) {
      client = saved;
    },
    tokens() {
      return this.held;
    },
    saveTokens(tokens) {
      this.held = tokens;
    },
    redirectToAuthorization(url) {
      this.opened = url;
    },
    saveCodeVerifier(saved) {
      verifier = saved;
    },
    codeVerifier: () => verifier,
  };
}

const get = (address: string | URL) => fetch(new URL(address, origin), { redirect: "manual" });

/** What the page shows: the code for the owner, and the address that it looks at. */
async function pageAt(url: string | URL): Promise<{ code: string; next: string; html: string }> {
  const html = await (await get(url)).text();
  const [, code = ""] = /gsv mcp approve ([a-z0-9]{4}-[a-z0-9]{4})/.exec(html) ?? [];
  const [, next = ""] = /url=([^"]+)"/.exec(html) ?? [];
  return { code, next: next.replaceAll("&#38;", "&"), html };
}

const challengeOf = (verifier: string) => createHash("sha256").update(verifier).digest("base64url");

/** A registered program that has begun a request by hand. */
async function beginByHand(more: Record<string, string> = {}) {
  const response = await fetch(`${origin}/oauth/register`, {
    method: "POST",
    body: JSON.stringify({ client_name: "By hand", redirect_uris: [redirectUri] }),
  });
  const { client_id } = (await response.json()) as { client_id: string };
  const verifier = randomBytes(32).toString("base64url");
  const query = {
    response_type: "code",
    client_id,
    redirect_uri: redirectUri,
    code_challenge: challengeOf(verifier),
    code_challenge_method: "S256",
    scope: "mcp mcp:nodes",
    state: "s&1",
    ...more,
  };
  return { clientId: client_id, verifier, url: `${origin}/oauth/authorize?${new URLSearchParams(query)}` };
}

async function tokenRequest(form: Record<string, string>): Promise<TokenAnswer> {
  const response = await fetch(`${origin}/oauth/token`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(form),
  });
  return { status: response.status, ...((await response.json()) as object) };
}

interface TokenAnswer {
  status: number;
  access_token?: string;
  refresh_token?: string;
  error?: string;
}

/** Goes through the whole flow by hand, and returns the tokens and what was sent for them. */
async function letIn(scopes?: string[]) {
  const { clientId, verifier, url } = await beginByHand();
  const { code, next } = await pageAt(url);
  await owner.call("program.approve", { code, scopes });
  const location = new URL((await get(next)).headers.get("location") ?? "");
  const form = {
    grant_type: "authorization_code",
    code: location.searchParams.get("code") ?? "",
    client_id: clientId,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  };
  return { form, location, tokens: await tokenRequest(form) };
}

describe("a program that its user lets in", () => {
  it("finds the gateway's authorization server, waits for the owner, and uses the agent", async () => {
    const provider = openProvider();
    const transport = () =>
      new StreamableHTTPClientTransport(new URL(served.dev.cloud.mcp), { authProvider: provider });
    const first = transport();
    const client = () =>
      new Client({ name: "editor", version: "1" }, { versionNegotiation: { mode: "auto" } });
    await expect(client().connect(first)).rejects.toThrow(UnauthorizedError);
    const { code, next, html } = await pageAt(provider.opened ?? "");
    expect(html).toContain("Editor &#60;b&#62; asks to use your agent");
    expect(html).toContain("127.0.0.1:7777");
    expect((await get(next)).status, "not yet").toBe(200);
    expect(await owner.call("program.get", { code })).toMatchObject({
      name: "Editor <b>",
      redirectUri,
      scopes: ["mcp", "mcp:nodes"],
    });
    await owner.call("program.approve", { code: code.toUpperCase() });
    const done = await get(next);
    expect(done.status).toBe(302);
    const location = new URL(done.headers.get("location") ?? "");
    expect(location.searchParams.get("iss")).toBe(origin);
    await first.finishAuth(location.searchParams);
    const program = client();
    await program.connect(transport());
    const answer = await program.callTool({ name: "ask", arguments: { message: "hello" } });
    expect(textOf(answer)).toBe("heard: hello");
    await program.close();
    const { tokens } = await owner.call<{ tokens: { name: string }[] }>("token.list");
    expect(tokens.map(({ name }) => name)).toContainEqual(expect.stringMatching(/^Editor <b>/));
    expect(await auth(provider, { serverUrl: served.dev.cloud.mcp }), "renews its tokens").toBe("AUTHORIZED");
  });

  it("gets only the scopes that the owner allows, whatever is stored", async () => {
    const { tokens } = await letIn(["mcp"]);
    expect(tokens).toMatchObject({
      status: 200,
      scope: "mcp",
      token_type: "Bearer",
      expires_in: 3600,
    });
    const { table } = served.dev.cloud.world;
    const verifier = createTokenVerifier(table, Date.now);
    const holder = await verifier.verify(tokens.access_token ?? "");
    expect(holder?.scopes).toEqual(["mcp"]);
    const item = await table.get({ pk: "GRANT", sk: holder?.id ?? "" });
    await table.put({
      ...item,
      pk: "GRANT",
      sk: holder?.id ?? "",
      scopes: ["admin", "client", "mcp", "mcp:nodes"],
    });
    expect((await verifier.verify(tokens.access_token ?? ""))?.scopes).toEqual(["mcp", "mcp:nodes"]);
  });

  it("renews its tokens once, of twenty attempts at once, until it is revoked", async () => {
    const { form, tokens } = await letIn();
    const renew = (refresh_token = "") =>
      tokenRequest({ grant_type: "refresh_token", refresh_token, client_id: form.client_id });
    const refreshToken = tokens.refresh_token ?? "";
    const once = () =>
      renewTokens(served.dev.cloud.world.table, { refreshToken, clientId: form.client_id }, Date.now());
    const [renewed, ...others] = (await Promise.all(Array.from({ length: 20 }, once))).filter((one) => one);
    expect([renewed !== undefined, others]).toEqual([true, []]);
    expect(await renew(refreshToken)).toMatchObject({ status: 400, error: "invalid_grant" });
    const { table } = served.dev.cloud.world;
    const verifier = createTokenVerifier(table, Date.now);
    expect(await verifier.verify(tokens.access_token ?? "")).toBeUndefined();
    const holder = await verifier.verify(renewed?.accessToken ?? "");
    expect(holder).toBeDefined();
    const anotherClient = {
      grant_type: "refresh_token",
      refresh_token: renewed?.refreshToken ?? "",
      client_id: "x",
    };
    expect(await tokenRequest(anotherClient)).toMatchObject({ error: "invalid_grant" });
    await revokeToken(table, holder?.id ?? "", Date.now());
    expect(await renew(renewed?.refreshToken)).toMatchObject({ error: "invalid_grant" });
    expect(await verifier.verify(renewed?.accessToken ?? "")).toBeUndefined();
    expect((await listTokens(table, Date.now())).map(({ id }) => id)).not.toContain(holder?.id);
  });

  it("has tokens that end after an hour, and after 90 days without renewal", async () => {
    const { form, tokens } = await letIn();
    const { table } = served.dev.cloud.world;
    const in2h = Date.now() + 2 * 3_600_000;
    expect(await createTokenVerifier(table, () => in2h).verify(tokens.access_token ?? "")).toBeUndefined();
    const id = tokens.access_token?.split("_")[1];
    expect((await listTokens(table, in2h)).some((token) => token.id === id)).toBe(true);
    expect((await listTokens(table, Date.now() + 91 * 86_400_000)).some((token) => token.id === id)).toBe(
      false,
    );
    expect(form.client_id).toMatch(/^gsvc_/);
  });
});

describe("an authorization code", () => {
  it("is used once, also by ten programs at once", async () => {
    const { form, tokens } = await letIn();
    expect(tokens.status).toBe(200);
    expect(await tokenRequest(form)).toMatchObject({ status: 400, error: "invalid_grant" });
    const { clientId, verifier, url } = await beginByHand();
    const { code, next } = await pageAt(url);
    await owner.call("program.approve", { code });
    const location = new URL((await get(next)).headers.get("location") ?? "");
    expect(location.searchParams.get("state")).toBe("s&1");
    const given = {
      code: location.searchParams.get("code") ?? "",
      clientId,
      redirectUri,
      verifier,
    };
    const { table } = served.dev.cloud.world;
    const exchanged = await Promise.all(
      Array.from({ length: 10 }, () => exchangeCode(table, given, Date.now())),
    );
    expect(exchanged.filter((one) => one !== undefined)).toHaveLength(1);
  });

  it.each([
    ["another verifier", { code_verifier: "x".repeat(43) }],
    ["another client", { client_id: "gsvc_x" }],
    ["another address", { redirect_uri: `${redirectUri}/` }],
    ["another gateway's resource", { resource: "https://other.example/mcp" }],
  ])("is refused with %s", async (_, wrong) => {
    const { clientId, verifier, url } = await beginByHand();
    const { code, next } = await pageAt(url);
    await owner.call("program.approve", { code });
    const location = new URL((await get(next)).headers.get("location") ?? "");
    const form = {
      grant_type: "authorization_code",
      code: location.searchParams.get("code") ?? "",
      client_id: clientId,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    };
    expect((await tokenRequest({ ...form, ...wrong })).status).toBe(400);
  });

  it("is given to no other browser, and only within ten minutes", async () => {
    const { url } = await beginByHand();
    const { code, next } = await pageAt(url);
    await owner.call("program.approve", { code });
    const other = new URL(next, origin);
    other.searchParams.set("secret", "x".repeat(43));
    expect((await get(other)).status).toBe(400);
    const { table } = served.dev.cloud.world;
    const { collectCode } = await import("../../shared/peers/program-grants.ts");
    const asked = { code, secret: new URL(next, origin).searchParams.get("secret") ?? "" };
    expect(await collectCode(table, asked, Date.now() + 11 * 60_000)).toBe("unknown");
    expect(await collectCode(table, asked, Date.now())).toMatchObject({ redirectUri });
  });
});

describe("a request", () => {
  it("is approved with the owner's rights alone, and once", async () => {
    const { url } = await beginByHand();
    const { code } = await pageAt(url);
    const client = await openClient(served.dev.url, served.dev.token, "client");
    expect(await client.request("program.approve", { code })).toMatchObject({
      ok: false,
      error: { code: 403 },
    });
    await client.close();
    await owner.call("program.approve", { code });
    for (const method of ["program.approve", "program.deny"] as const)
      expect(await owner.request(method, { code })).toMatchObject({ error: { code: 409 } });
    expect(await owner.request("program.approve", { code: "aaaa-aaaa" })).toMatchObject({
      error: { code: 404 },
    });
  });

  it("that is denied is never approved, which the program learns; of ten answers at once one counts", async () => {
    const { code, next } = await pageAt((await beginByHand()).url);
    const client = await openClient(served.dev.url, served.dev.token, "client");
    expect(await client.request("program.deny", { code })).toMatchObject({ error: { code: 403 } });
    await client.close();
    expect(await owner.call("program.deny", { code })).toMatchObject({ name: "By hand", approved: false });
    for (const method of ["program.get", "program.approve", "program.deny"] as const)
      expect(await owner.request(method, { code })).toMatchObject({ error: { code: 404 } });
    const { searchParams } = new URL((await get(next)).headers.get("location") ?? "");
    expect(Object.fromEntries(searchParams)).toEqual({ error: "access_denied", state: "s&1", iss: origin });
    const other = await pageAt((await beginByHand()).url);
    const answer = (index: number) =>
      owner.request(index % 2 === 0 ? "program.deny" : "program.approve", { code: other.code });
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => answer(index)));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
  });

  it.each([
    ["no PKCE", { code_challenge: "" }, "invalid_request"],
    ["a plain challenge", { code_challenge_method: "plain" }, "invalid_request"],
    ["another response", { response_type: "token" }, "unsupported_response_type"],
    ["unknown scopes", { scope: "admin" }, "invalid_scope"],
    ["another resource", { resource: "https://other.example/mcp" }, "invalid_target"],
  ])("with %s is sent back to the program", async (_, more, error) => {
    const response = await get((await beginByHand(more)).url);
    const location = new URL(response.headers.get("location") ?? "");
    expect([location.origin, location.searchParams.get("error")]).toEqual(["http://127.0.0.1:7777", error]);
  });

  it.each([
    ["an address that the program has not registered", { redirect_uri: "https://evil.example/" }],
    ["an address that only begins like the program's", { redirect_uri: `${redirectUri}.evil.example` }],
    ["a client that nobody registered", { client_id: "gsvc_bm9uZQ" }],
    ["a private document", { client_id: "https://127.0.0.1/client.json" }],
  ])("with %s is sent nowhere", async (_, more) => {
    const response = await get((await beginByHand(more)).url);
    expect([response.status, response.headers.get("location")]).toEqual([400, null]);
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
  });
});

it("answers 300 hostile requests to its authorization server without an error of its own", async () => {
  const random = seededRandom(31);
  const odd = [
    "",
    "x",
    "gsvc_",
    "gsvc_bnVsbA",
    "gsvc_W10",
    "https://",
    "https://[",
    "\ud800",
    "%00",
    "__proto__",
    "a".repeat(3000),
  ];
  const names = [
    "client_id",
    "redirect_uri",
    "code",
    "secret",
    "state",
    "scope",
    "resource",
    "code_challenge",
    "grant_type",
  ];
  const fields = () => new URLSearchParams(names.map((name): [string, string] => [name, random.pick(odd)]));
  const bodies = [
    () => "",
    () => "{",
    () => "[]",
    () => fields().toString(),
    () => JSON.stringify({ redirect_uris: random.pick<unknown>([odd, 1, [[]], {}]) }),
  ];
  const paths = [
    "/oauth/register",
    "/oauth/authorize",
    "/oauth/wait",
    "/oauth/token",
    "/.well-known/oauth-authorization-server",
    "/oauth",
    "//",
  ];
  for (let i = 0; i < 300; i++) {
    const method = random.pick(["GET", "POST"]);
    const init: RequestInit = method === "GET" ? { method } : { method, body: random.pick(bodies)() };
    const address = `${origin}${random.pick(paths)}?${fields()}`;
    const { status } = await fetch(address, {
      ...init,
      redirect: "manual",
    });
    expect(status, `${method} ${address} ${init.body}`).toBeLessThan(500);
  }
});
