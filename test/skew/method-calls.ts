import { createHash, randomUUID } from "node:crypto";
import type { Method } from "../../shared/protocol/methods.ts";
import { usageGroups } from "../../shared/protocol/usage.ts";
import { type Answer, clientParams, type openNode, Peer } from "../support/peer.ts";

/** The connected peers. The connections outlive a change of the functions. */
export interface Peers {
  owner: Peer;
  laptop: Awaited<ReturnType<typeof openNode>>;
  bridge: Peer;
  url: string;
  token: string;
}

/** What the writing version has stored, as the reading version's calls need it. */
export interface Facts {
  sessionId: string;
  objectId: string;
  commit: string;
  memories: string[];
  jobId: string;
  tokenId: string;
  /** Ids of the node's calls that still wait for a result, by tool or event. */
  waiting: { Wait: string; Slow: string; logs: string; background: string };
  transfers: { into: number; outOf: number };
  lines: string;
}

const main = "agent:main:main";
const kept = "agent:main:kept";
const job = { name: "tea", schedule: { kind: "every", everyMs: 3_600_000 } };
const inbound = (id: string, sender: string) => ({
  ...{ channel: "ferry", peer: { kind: "dm", id: sender }, message: { id, text: `hello from ${sender}` } },
});

async function say(owner: Peer, sessionKey: string, message: string): Promise<void> {
  const runId = randomUUID();
  await owner.call("chat.send", { sessionKey, message, runId });
  await owner.ended(runId);
}

const eventOf = (peer: Peer, name: string) =>
  peer.event((_payload, event) => event === name, `${name} arrives`);

/** Stores something of every kind, and leaves a call of each kind without its result. */
export async function prepare({ owner, laptop, bridge }: Peers): Promise<Facts> {
  await owner.call("agent.init", {});
  for (const content of ["one\n", "two\n"]) {
    await owner.call("workspace.write", { path: "notes.md", content });
    await owner.call("workspace.checkpoint", { note: content.trim() });
  }
  await say(owner, main, "run it");
  await owner.call("session.reset", { sessionKey: main });
  for (const text of ["run it", "and then?", "background"]) await say(owner, main, text);
  await say(owner, kept, "run it");
  await owner.call("session.compact", { sessionKey: kept, keepMessages: 2 });
  await owner.call("chat.send", { sessionKey: "agent:main:wait", message: "wait", runId: "wait" });
  for (const text of ["likes green tea", "works from home", "has two cats"])
    await owner.call("memory.add", { text });
  const added = await owner.call<{ job: { id: string } }>("cron.add", {
    ...job,
    spec: { mode: "systemEvent", text: "drink" },
  });
  await owner.call("cron.run", { id: added.job.id, mode: "force" });
  for (const [id, sender] of ["passenger", "ann", "bob"].entries())
    await bridge.call("channel.inbound", inbound(`m${id}`, sender));
  const token = await owner.call("token.create", { name: "spare", scopes: ["client"] });
  void owner.request("tool.invoke", { tool: "laptop__Slow" });
  void owner.request("logs.get", { nodeId: "laptop" });
  const open = (source: string, destination: string) =>
    owner.call<{ transferId: number }>("transfer.open", { source, destination });
  const into = await open("laptop:/tmp/in.txt", "gsv:in.txt");
  const outOf = await open("gsv:notes.md", "laptop:/tmp/out.txt");
  await eventOf(laptop, "transfer.receive");
  const callOf = async (tool: string) => {
    await laptop.seen(() => laptop.calls.find((call) => call.tool === tool), `${tool} is called`);
    return laptop.calls.find((call) => call.tool === tool)!.callId;
  };
  const { objects } = await owner.call<{ objects: { id: string; type: string }[] }>("object.list", {
    sessionKey: main,
  });
  const { commits } = await owner.call<{ commits: { sha: string }[] }>("workspace.log");
  const { memories } = await owner.call<{ memories: { id: string }[] }>("memory.list");
  const exported = { sessionKey: main, format: "turns" };
  const { text } = await owner.call<{ text: string }>("session.export", exported);
  return {
    sessionId: (await owner.call<{ sessionId: string }>("session.get", { sessionKey: main })).sessionId,
    objectId: objects.find(({ type }) => type === "toolcall")!.id,
    commit: commits.at(-1)!.sha,
    memories: memories.map(({ id }) => id),
    jobId: added.job.id,
    tokenId: String(token.id),
    waiting: {
      Wait: await callOf("Wait"),
      Slow: await callOf("Slow"),
      background: await callOf("Background"),
      logs: String((await eventOf(laptop, "logs.get")).callId),
    },
    transfers: { into: into.transferId, outOf: outOf.transferId },
    lines: text,
  };
}

interface Call {
  by?: "laptop" | "bridge";
  params?: object;
  /** The answer consists of sums that the previous release does not record: it only has to succeed. */
  isSum?: true;
  /** Makes the request in another way. */
  send?: (peers: Peers) => Promise<Answer>;
}

const session = { sessionKey: main };
const hash = createHash("sha256").update("hello").digest("hex");

/** Stores the bytes of a transfer's part, as a node does. */
async function sendPart({ laptop }: Peers, transferId: number): Promise<Answer> {
  const answer = await laptop.request("transfer.part", { transferId, part: 0 });
  const { url, headers } = answer.payload as { url: string; headers: Record<string, string> };
  await fetch(url, { method: "PUT", headers, body: "hello" });
  return answer;
}

/** Deletes the fork again: the previous release makes none. */
async function forkAndDelete({ owner }: Peers): Promise<Answer> {
  const forkId = "7d1c2a3e-1b7d-4c8e-9a6f-0d1e2f3a4b5c";
  const answer = await owner.request("session.fork", { ...session, forkId });
  if (answer.ok) await owner.call("session.delete", { sessionKey: `agent:main:fork-${forkId}` });
  return answer;
}

/** Calls of every method over the stored items, in this order. */
export const methodCalls: Record<Method, (facts: Facts) => Call[]> = {
  connect: () => [
    {
      async send({ url, token }) {
        const peer = await Peer.open(url, token);
        const answer = await peer.request("connect", clientParams("another"));
        await peer.close();
        return answer;
      },
    },
  ],
  "sessions.list": () => [{}],
  "approval.list": () => [{}, { params: { all: true } }],
  "approval.get": () => [{ params: { id: "a".repeat(16) } }],
  "approval.answer": () => [{ params: { id: "a".repeat(16), hash, decision: "allow" } }],
  "grant.list": () => [{}],
  "grant.revoke": () => [{ params: { id: "a".repeat(16) } }],
  "mcp.list": () => [{}],
  "mcp.tools": () => [{}],
  "mcp.probe": () => [{ params: { name: "none" } }],
  "mcp.add": () => [{ params: { name: "bad url", url: "none" } }],
  "mcp.login": () => [{ params: { name: "none" } }],
  "mcp.login.finish": () => [{ params: { name: "none" } }],
  "mcp.remove": () => [{ params: { name: "none" } }],
  "session.get": () => [{ params: session }, { params: { sessionKey: kept } }],
  "session.stats": () => [{ params: session }],
  "session.cost": () => [{ params: session }],
  "session.context": () => [{ params: session }],
  "usage.get": () => usageGroups.map((by) => ({ params: { by }, isSum: true })),
  "budget.list": () => [{}],
  "budget.raise": () => [{ params: { id: "day", usd: 1, raiseId: "a" } }],
  "session.preview": () => [{ params: session }, { params: { sessionKey: kept } }],
  "chat.result": () => [{ params: { ...session, runId: "no-such-run" } }],
  "session.fork": () => [{ send: forkAndDelete }],
  "media.url": () => [{ params: { ...session, r2Key: "media/agent:main:main/none.png" } }],
  "session.history": () => [{ params: session }],
  "session.transcript": ({ sessionId }) => [{ params: { ...session, sessionId } }],
  "session.export": ({ sessionId }) => [
    { params: session },
    { params: { ...session, sessionId, format: "turns" } },
  ],
  "object.list": () => [{ params: session }, { params: { sessionKey: kept } }],
  "object.get": ({ objectId }) => [{ params: { ...session, id: objectId } }],
  "object.history": ({ objectId }) => [{ params: { ...session, id: objectId } }],
  "object.diff": ({ objectId: id }) => [{ params: { from: { ...session, id }, to: { ...session, id } } }],
  "session.search": () => [{ params: { query: "hello" } }],
  "tools.list": () => [{}],
  "config.get": () => [{}],
  "channels.list": () => [{}],
  "channel.status": () => [{ params: { channel: "ferry" } }],
  "pair.list": () => [{}],
  "token.list": () => [{}],
  "token.standing": () => [{}],
  "cron.status": () => [{}],
  "cron.list": () => [{}],
  "cron.runs": () => [{}],
  "heartbeat.status": () => [{}],
  "skills.status": () => [{}],
  "workspace.list": () => [{}],
  "workspace.read": () => [{ params: { path: "notes.md" } }],
  "workspace.log": () => [{}],
  "workspace.diff": () => [{}],
  "workspace.show": ({ commit }) => [{ params: { commit } }],
  "workspace.clone": () => [{}],
  "memory.list": () => [{}],
  "memory.why": ({ memories: [id] }) => [{ params: { id } }],
  "memory.dreaming": () => [{}],
  "memory.dream": () => [{ params: { dryRun: true } }],
  "transfer.status": ({ transfers }) => [{ params: { transferId: transfers.into } }],

  "tool.result": ({ waiting }) => [
    { by: "laptop", params: { callId: waiting.Wait, result: "waited" } },
    { by: "laptop", params: { callId: waiting.Slow, result: "was slow" } },
  ],
  "logs.result": ({ waiting }) => [{ by: "laptop", params: { callId: waiting.logs, lines: ["a line"] } }],
  "node.exec.event": ({ waiting }) => [
    {
      by: "laptop",
      params: { eventId: "e1", sessionId: "bg", event: "finished", callId: waiting.background, exitCode: 0 },
    },
  ],
  "node.pong": () => [{ by: "laptop" }],
  "skills.update": () => [{}],
  "skills.files": () => [
    { by: "laptop", params: { agentId: "main", name: "none", hash: hash.slice(0, 16) } },
  ],
  "node.probe.result": () => [{ by: "laptop", params: { probeId: "unknown", ok: true, bins: {} } }],
  "transfer.meta": ({ transfers }) => [{ by: "laptop", params: { transferId: transfers.into, size: 5 } }],
  "transfer.part": ({ transfers }) => [{ send: (peers) => sendPart(peers, transfers.into) }],
  "transfer.complete": ({ transfers }) => [
    { by: "laptop", params: { transferId: transfers.into, sha256: hash } },
  ],
  "transfer.accept": ({ transfers }) => [{ by: "laptop", params: { transferId: transfers.outOf } }],
  "transfer.done": ({ transfers }) => [
    { by: "laptop", params: { transferId: transfers.outOf, bytesWritten: 4 } },
  ],
  "transfer.cancel": ({ transfers }) => [
    { params: { transferId: transfers.outOf } },
    { params: { transferId: transfers.into } },
  ],
  "transfer.open": () => [{ params: { source: "gsv:notes.md", destination: "gsv:copy.md" } }],
  "channel.delivered": () => [{ by: "bridge", params: { id: "unknown" } }],
  "channel.inbound": () => [
    { by: "bridge", params: inbound("m0", "passenger") },
    { by: "bridge", params: inbound("m9", "passenger") },
  ],
  "channel.start": () => [{ params: { channel: "ferry" } }],
  "channel.stop": () => [{ params: { channel: "ferry" } }],
  "channel.test": () => [{ params: { channel: "ferry", to: "passenger" } }],
  "channel.login": () => [{ params: { channel: "ferry" } }],
  "channel.logout": () => [{ params: { channel: "ferry" } }],
  "channel.remove": () => [{ params: { channel: "ferry" } }],
  "pair.approve": () => [{ params: { channel: "ferry", senderId: "ann" } }],
  "pair.reject": () => [{ params: { channel: "ferry", senderId: "bob" } }],
  "cron.update": ({ jobId: id }) => [{ params: { id, patch: { name: "coffee" } } }],
  "cron.run": ({ jobId: id }) => [{ params: { id, mode: "force" } }],
  "cron.remove": ({ jobId: id }) => [{ params: { id } }],
  "cron.add": () => [{ params: { ...job, spec: { mode: "task", message: "drink" } } }],
  "heartbeat.start": () => [{}],
  "heartbeat.trigger": () => [{}],
  "heartbeat.stop": () => [{}],
  "memory.add": () => [{ params: { text: "plays the piano" } }],
  "memory.correct": ({ memories: [id] }) => [{ params: { id, text: "likes black tea" } }],
  "memory.forget": ({ memories }) => [{ params: { id: memories[1], everywhere: true } }],
  "memory.allow": ({ memories }) => [{ params: { id: memories[1] } }],
  "workspace.checkpoint": () => [{ params: { note: "again" } }],
  "workspace.write": () => [{ params: { path: "new.md", content: "new" } }],
  "workspace.restore": () => [{ params: { commit: "HEAD~1", path: "notes.md" } }],
  "workspace.delete": () => [{ params: { path: "new.md" } }],
  "payload.upload": () => [{ params: { bytes: 10, kind: "media" } }],
  "session.deactivate": ({ objectId: id }) => [{ params: { ...session, id } }],
  "session.activate": ({ objectId: id }) => [{ params: { ...session, id } }],
  "session.pin": ({ objectId: id }) => [{ params: { ...session, id } }],
  "session.patch": () => [{ params: { ...session, label: "renamed" } }],
  "session.import": ({ lines }) => [
    {
      params: {
        ...{ sessionKey: "agent:main:copy", importId: "5f0c2a3e-1b7d-4c8e-9a6f-0d1e2f3a4b5c" },
        ...{ format: "turns", lines },
      },
    },
  ],
  "chat.send": () => [{ params: { ...session, message: "still there?", runId: "still" } }],
  "session.compact": () => [{ params: { ...session, keepMessages: 2 } }],
  "session.reset": () => [{ params: session }, { params: { sessionKey: kept } }],
  "session.delete": () => [{ params: { sessionKey: "agent:main:gone" } }],
  "agent.init": () => [{}],
  "config.set": () => [{ params: { path: "userTimezone", value: "Europe/Berlin" } }],
  "tool.invoke": () => [{ params: { tool: "laptop__Bash", args: { command: "date" } } }],
  "tool.request": () => [{ params: { ...session, tool: "laptop__Bash", callId: "r1" } }],
  "logs.get": () => [{ params: { nodeId: "nobody" } }],
  "code.create": () => [{ params: { short: true } }],
  "device.list": () => [{}],
  "device.revoke": () => [{ params: { id: "nobody" } }],
  "program.get": () => [{ params: { code: "aaaa-bbbb" } }],
  "program.approve": () => [{ params: { code: "aaaa-bbbb" } }],
  "program.deny": () => [{ params: { code: "aaaa-bbbb" } }],
  "token.create": () => [{ params: { name: "another" } }],
  "token.revoke": ({ tokenId: id }) => [{ params: { id } }],
  "node.forget": () => [{ params: { nodeId: "laptop" } }],
};

/** Methods that the writing version calls again in the end, over what the reading version has stored. */
export const finalReads: readonly Method[] = [
  ...(["sessions.list", "session.get", "session.preview", "session.history", "object.list"] as const),
  ...(["memory.list", "workspace.list", "workspace.log", "cron.list", "cron.runs", "token.list"] as const),
  ...(["channels.list", "pair.list", "config.get", "session.search"] as const),
];

/** Makes the calls of a method. @returns an outcome for each */
export async function callMethod(method: Method, facts: Facts, peers: Peers): Promise<unknown[]> {
  const outcomes: unknown[] = [];
  for (const { by = "owner", params = {}, isSum, send } of methodCalls[method](facts)) {
    const answer = await (send?.(peers) ?? peers[by].request(method, params));
    if (method === "chat.send" && answer.ok) await peers.owner.ended("still");
    outcomes.push(answer.ok ? isSum || answer.payload : answer.error);
  }
  return outcomes;
}
