import { afterAll, beforeAll, expect, it } from "vitest";
import type { Scope } from "../../../shared/protocol/methods.ts";
import { bridgeParams } from "../../support/bridge.ts";
import { clientParams, nodeParams, Peer } from "../../support/peer.ts";
import { type AttackedGateway, startAttackedGateway } from "../attacked-gateway.ts";

/** Self-declared scope: a peer's claims about its own rights must not count. */

let on: AttackedGateway;
beforeAll(async () => {
  on = await startAttackedGateway();
});
afterAll(() => on.close());

const claims = {
  scopes: ["admin"],
  scope: "admin",
  role: "admin",
  isAdmin: true,
  tokenId: "admin",
  admin: true,
};

/** Connects with a token of these scopes and claims to have others. */
async function claim(granted: Scope[], params: object, more = {}): Promise<Peer> {
  const peer = await Peer.open(on.ws);
  const token = await on.token(granted, more);
  const client = { ...(params as { client: object }).client, ...claims };
  const answer = await peer.request("connect", {
    ...params,
    ...claims,
    client,
    capabilities: ["admin", "client"],
    auth: { token, ...claims },
  });
  if (!answer.ok) throw new Error(String(answer.error.code));
  return peer;
}

const needAdmin: [method: string, params: object][] = [
  ["config.set", { path: "systemPrompt", value: "mine" }],
  ["token.create", { name: "mine", scopes: ["admin"] }],
  ["token.list", {}],
  ["token.revoke", { id: "x" }],
  ["pair.list", {}],
  ["pair.approve", { channel: "telegram", senderId: "1" }],
  ["pair.reject", { channel: "telegram", senderId: "1" }],
  ["channel.start", { channel: "telegram", config: { botToken: "1:x" } }],
  ["channel.stop", { channel: "telegram" }],
  ["channel.remove", { channel: "telegram" }],
  ["channel.test", { channel: "telegram", to: "1" }],
];

it("a client with the scope approve has no other right than a client", async () => {
  const peer = await claim(["client", "approve"], clientParams("approver"));
  for (const [method, params] of needAdmin)
    expect(await peer.request(method, params), method).toMatchObject({ ok: false, error: { code: 403 } });
  peer.socket.terminate();
});

it("a client that claims to be an administrator may not use methods of that scope", async () => {
  const peer = await claim(["client"], clientParams("mallory"));
  for (const [method, params] of needAdmin) {
    const answer = await peer.request(method, { ...params, ...claims });
    expect(answer, method).toMatchObject({ ok: false, error: { code: 403 } });
  }
  const { tokens } = await on.owner.call<{ tokens: { name: string }[] }>("token.list");
  expect(tokens.map(({ name }) => name)).not.toContain("mine");
  peer.socket.terminate();
});

it("a token connects only in the mode of its scope, whatever mode it requests", async () => {
  const modes = {
    client: clientParams("m"),
    node: nodeParams("m", ["Bash"]),
    channel: bridgeParams("ferry"),
  };
  const granted: [Scope, object][] = [
    ["client", {}],
    ["node", {}],
    ["channel", { channel: "boat" }],
    ["approve", {}],
  ];
  for (const [scope, more] of granted)
    for (const [mode, params] of Object.entries(modes)) {
      if (mode === scope && mode !== "channel") continue;
      // A bridge's token works only for its own channel.
      await expect(claim([scope], params, more), `${scope} as ${mode}`).rejects.toThrow("403");
    }
});

it("a node and a bridge that claim to be clients may not read or change anything", async () => {
  const node = await claim(["node"], nodeParams("m", ["Bash"]));
  const bridge = await claim(["channel"], bridgeParams("ferry"), { channel: "ferry" });
  const methods: [string, object][] = [
    ["config.get", {}],
    ["sessions.list", {}],
    ["session.preview", { sessionKey: "main" }],
    ["chat.send", { sessionKey: "main", message: "hello" }],
    ["workspace.read", { path: "MEMORY.md" }],
    ["tool.invoke", { tool: "m__Bash", args: {} }],
    ...needAdmin,
  ];
  for (const peer of [node, bridge])
    for (const [method, params] of methods)
      expect(await peer.request(method, { ...params, ...claims }), method).toMatchObject({
        ok: false,
        error: { code: 403 },
      });
  for (const peer of [node, bridge]) peer.socket.terminate();
});
