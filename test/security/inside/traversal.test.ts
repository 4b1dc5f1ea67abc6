import { afterAll, beforeAll, expect, it } from "vitest";
import { openBridge } from "../../support/bridge.ts";
import { openClient, type Peer } from "../../support/peer.ts";
import { type AttackedGateway, startAttackedGateway } from "../attacked-gateway.ts";

/** Traversal: a path, an agent's id or a conversation's id must not lead out of its folder. */

let on: AttackedGateway;
let client: Peer;
beforeAll(async () => {
  on = await startAttackedGateway();
  client = await openClient(on.ws, await on.token(["client"]), "mallory");
  await on.owner.call("workspace.write", { agentId: "keeper", path: "MEMORY.md", content: "kept" });
  await on.world.bucket.put("agents/keeper/sessions/s1.jsonl.gz", "kept");
});
afterAll(async () => {
  client.socket.terminate();
  await on.close();
});

const paths = [
  ...["../keeper/MEMORY.md", "x/../../keeper/MEMORY.md", "./../keeper/MEMORY.md", "..\\keeper\\MEMORY.md"],
  ...["/../keeper/MEMORY.md", "//keeper/MEMORY.md", "..", ".", "a/./b", "a//b", "a\u0000b"],
  ...[
    "../../../../../../etc/passwd",
    `${"../".repeat(100)}etc/passwd`,
    "skills/../../keeper/MEMORY.md",
    "a/",
  ],
];

it("no path of a file leads out of the agent's workspace", async () => {
  for (const path of paths)
    for (const [method, more] of [
      ["workspace.read", {}],
      ["workspace.write", { content: "taken" }],
      ["workspace.delete", {}],
    ] as const) {
      const answer = await client.request(method, { path, agentId: "scratch", ...more });
      expect(answer, `${method} ${path}`).toMatchObject({ ok: false, error: { code: 400 } });
    }
  const keys = (await on.world.bucket.list("")).objects.map(({ key }) => key).sort();
  expect(keys).toEqual(["agents/keeper/MEMORY.md", "agents/keeper/sessions/s1.jsonl.gz"]);
});

it("an absolute path starts at the workspace", async () => {
  for (const path of ["/agents/keeper/MEMORY.md", "/etc/passwd"])
    expect(await client.request("workspace.read", { path, agentId: "scratch" })).toMatchObject({
      error: { code: 404, message: expect.stringContaining(path.slice(1)) },
    });
  await client.call("workspace.write", { path: "/etc/passwd", agentId: "scratch", content: "mine" });
  const { objects } = await on.world.bucket.list("agents/scratch/");
  expect(objects.map(({ key }) => key)).toEqual(["agents/scratch/etc/passwd"]);
});

it("an agent's id in the form of a path names no other agent", async () => {
  const agents = [
    "scratch/../keeper",
    "../agents/keeper",
    "x/agents/keeper",
    "%6beeper",
    "scratch\\..\\keeper",
  ];
  for (const agentId of agents) {
    await client.request("workspace.write", { path: "MEMORY.md", agentId, content: "taken" });
    await client.request("workspace.delete", { path: "MEMORY.md", agentId });
    const read = await client.request("workspace.read", { path: "MEMORY.md", agentId });
    expect(read.ok, agentId).toBe(false);
  }
  const kept = await on.owner.call("workspace.read", { path: "MEMORY.md", agentId: "keeper" });
  expect(kept).toMatchObject({ content: "kept" });
});

it("a conversation's id in the form of a path reads no other file", async () => {
  const ids = ["../../keeper/sessions/s1", "..", "../s1", "s1/../../MEMORY.md", "x\u0000", "%2e%2e/s1", "/"];
  for (const sessionId of ids) {
    for (const method of ["session.transcript", "session.export"]) {
      const answer = await client.request(method, { sessionId, agentId: "scratch" });
      expect(answer, `${method} ${sessionId}`).toMatchObject({ ok: false, error: { code: 404 } });
    }
  }
});

it("an upload's ref in the form of a path reads no object of the bucket", async () => {
  for (const ref of ["../../agents/keeper/MEMORY", "../out/x", "", "x/y", `${"0".repeat(8)}-../../x`]) {
    client.send({ type: "req", id: `r${ref}`, method: "session.patch", paramsRef: ref });
    const answer = await client.response(`r${ref}`);
    expect(answer, ref).toMatchObject({ ok: false, error: { code: 400 } });
  }
});

it("an id longer than a table key is refused without an internal error", async () => {
  const bridge = await openBridge(on.ws, await on.token(["channel"], { channel: "ferry" }), "ferry");
  for (const id of ["é".repeat(1000), "x".repeat(1025)])
    expect(await bridge.request("channel.delivered", { id })).toMatchObject({
      ok: false,
      error: { code: 400 },
    });
  expect(await bridge.call("channel.delivered", { id: "é".repeat(512) })).toEqual({
    ok: true,
    dropped: true,
  });
  bridge.socket.terminate();
});
