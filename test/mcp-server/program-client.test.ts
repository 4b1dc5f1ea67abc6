import { describe, expect, it } from "vitest";
import { findClient, registerClient } from "../../functions/mcp/oauth/program-client.ts";

const redirectUri = "http://127.0.0.1:7777/callback";

describe("a client", () => {
  it.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "http://evil.example/",
    "https://a@b.example/",
    "https://x/#f",
    "x",
  ])("does not register %s", (uri) =>
    expect(registerClient({ redirect_uris: [uri] })).toHaveProperty("fault"),
  );

  it("registers its own scheme, and addresses of this machine and of hosts", () => {
    const redirect_uris = [
      "cursor://anysphere.cursor-mcp/oauth/callback",
      "http://localhost:1/",
      "https://claude.ai/x",
    ];
    expect(registerClient({ redirect_uris })).toMatchObject({
      redirectUris: redirect_uris,
      name: "a program",
    });
  });

  it("is found by the address of its document, if that names it", async () => {
    const clientId = "https://editor.example/client.json";
    const document = (value: object) => async () =>
      ({ ok: true, url: clientId, body: Buffer.from(JSON.stringify(value)) }) as const;
    const metadata = { client_id: clientId, client_name: "Editor", redirect_uris: [redirectUri] };
    expect(await findClient(document(metadata), clientId)).toMatchObject({
      name: "Editor",
      redirectUris: [redirectUri],
    });
    expect(
      await findClient(document({ ...metadata, client_id: "https://other.example/" }), clientId),
    ).toHaveProperty("fault");
    expect(
      await findClient(document({ ...metadata, redirect_uris: ["javascript:x"] }), clientId),
    ).toHaveProperty("fault");
  });
});
