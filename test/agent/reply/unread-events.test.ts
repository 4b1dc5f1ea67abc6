import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { connectedPeers, freshPeersMs } from "../../../functions/agent/context/connected-peers.ts";
import { announce } from "../../../functions/agent/reply/delivery.ts";
import { streamDeltas } from "../../../functions/agent/reply/deltas.ts";
import { createMemoryTable } from "../../../local/world/local-table.ts";
import { createBroadcast } from "../../../shared/peers/broadcast.ts";
import { bindPeer, openConnection } from "../../../shared/peers/registry.ts";
import type { ChatEvent } from "../../../shared/protocol/events.ts";
import type { AssistantMessage } from "../../../shared/protocol/messages.ts";
import type { Posted, Sockets } from "../../../shared/world/world.ts";

/** The answer of @connections for a client, and its delay in milliseconds of virtual time. */
type Answer = (once: boolean) => { afterMs: number; outcome: Posted | "failed" };

const reading: Answer = () => ({ afterMs: 20, outcome: "sent" });
/** Four attempts of a post that gets 429 take 2.6 s. */
const unread: Answer = (once) => ({ afterMs: once ? 20 : 2600, outcome: "busy" });

interface Post {
  to: string;
  event: ChatEvent;
  once: boolean;
  /** When it was answered, in virtual milliseconds. */
  at: number;
  outcome: Posted | "failed";
}

let clients: Record<string, Answer>;
let posts: Post[];
/** Pending posts to each client, and their maximum. */
let flying: Map<string, number>;
let most: Map<string, number>;
beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  clients = {};
  posts = [];
  flying = new Map();
  most = new Map();
});
afterEach(() => {
  vi.useRealTimers();
});

const sockets: Sockets = {
  async post(to, frame, { once = false } = {}) {
    const { afterMs, outcome } = clients[to]!(once);
    flying.set(to, (flying.get(to) ?? 0) + 1);
    most.set(to, Math.max(most.get(to) ?? 0, flying.get(to)!));
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    flying.set(to, flying.get(to)! - 1);
    posts.push({ to, event: (frame as { payload: ChatEvent }).payload, once, at: Date.now(), outcome });
    if (outcome === "failed") throw new Error("API Gateway is not itself");
    return outcome;
  },
  async close() {},
};

const sessionKey = "agent:main:main";
/** The clients' records are not read: each test says who is connected. */
const openAgent = () => ({ broadcast: createBroadcast(createMemoryTable(), sockets, () => 0) });
const connected = async () => Object.keys(clients);
const stream = (agent: ReturnType<typeof openAgent>, runId = "run", step = 0) =>
  streamDeltas(agent, sessionKey, { runId, attempt: 1, step }, connected);

/** A model says a word every 250 ms for five seconds. */
const words = Array.from({ length: 20 }, (_, n) => `word${n} `);
const answer = words.join("");

/** One model call and its announcement. @returns when the call had ended, in virtual milliseconds */
async function call(
  agent: ReturnType<typeof openAgent>,
  { runId = "run", step = 0, said = "final" as "final" | "calls" } = {},
): Promise<number> {
  const deltas = stream(agent, runId, step);
  for (const word of words) {
    deltas.add(word);
    await vi.advanceTimersByTimeAsync(250);
  }
  const endedAt = Date.now();
  const message: AssistantMessage = { role: "assistant", content: [], timestamp: 0 };
  const announced = deltas
    .end()
    .then(async () => announce(agent, sessionKey, runId, said, message, await connected()));
  await vi.runAllTimersAsync();
  await announced;
  return endedAt;
}

const postsTo = (client: string) => posts.filter(({ to }) => to === client);
const kindsTo = (client: string) => postsTo(client).map(({ event }) => event.state);
const textOf = (client: string) =>
  postsTo(client)
    .map(({ event }) => (event.state === "delta" ? event.text : ""))
    .join("");
const seqsTo = (client: string) =>
  postsTo(client).flatMap(({ event }) => (event.state === "delta" ? [event.seq] : []));

describe("with one client that does not read", () => {
  it("the others get every delta and the final at once; it gets one attempt and the final", async () => {
    clients = { ann: reading, stuck: unread, bob: reading };
    const endedAt = await call(openAgent());
    for (const client of ["ann", "bob"]) {
      expect(kindsTo(client)).toEqual([...words.map(() => "delta"), "final"]);
      expect(textOf(client)).toBe(answer);
      expect(postsTo(client).at(-1)?.at).toBe(endedAt + 20);
    }
    expect(postsTo("stuck").map(({ event, once }) => [event.state, once])).toEqual([
      ["delta", true],
      ["final", false],
    ]);
    expect(posts.at(-1)).toMatchObject({ to: "stuck", at: endedAt + 2600 });
  });

  it("its run continues without it, and the next run tries again", async () => {
    clients = { stuck: unread };
    const agent = openAgent();
    await call(agent, { said: "calls" });
    await call(agent, { step: 1 });
    expect(kindsTo("stuck")).toEqual(["delta", "final"]);
    clients = { stuck: reading };
    posts.length = 0;
    await call(agent, { runId: "next" });
    expect(textOf("stuck")).toBe(answer);
  });

  it("it still gets the events of another run", async () => {
    clients = { stuck: unread };
    const agent = openAgent();
    await call(agent, { said: "calls" });
    clients = { stuck: reading };
    await call(agent, { runId: "other" });
    expect(kindsTo("stuck").at(-1)).toBe("final");
    expect(textOf("stuck")).toContain(answer);
  });
});

describe("with a client that is slow", () => {
  const slow: Answer = () => ({ afterMs: 900, outcome: "sent" });

  it("it gets one event at a time, the text is joined meanwhile, and the final comes last", async () => {
    clients = { slow, ann: reading };
    const endedAt = await call(openAgent());
    expect(most.get("slow")).toBe(1);
    expect(textOf("slow")).toBe(answer);
    expect(seqsTo("slow")).toEqual(seqsTo("slow").map((_, n) => n));
    expect(seqsTo("slow").length).toBeLessThan(8);
    expect(kindsTo("slow").at(-1)).toBe("final");
    expect(postsTo("ann").at(-1)).toMatchObject({ event: { state: "final" }, at: endedAt + 20 });
  });

  it("it gets the repeat of the call after the earlier events, and then only the new text", async () => {
    clients = { slow };
    const deltas = stream(openAgent());
    deltas.add("old ");
    await vi.advanceTimersByTimeAsync(300);
    deltas.add("never sent ");
    deltas.repeat({ reason: "busy", waitMs: 0 });
    deltas.add("new");
    await vi.runAllTimersAsync();
    expect(postsTo("slow").map(({ event }) => event)).toEqual([
      expect.objectContaining({ state: "delta", text: "old ", seq: 0 }),
      expect.objectContaining({ state: "retry", reason: "busy" }),
      expect.objectContaining({ state: "delta", text: "new", seq: 0 }),
    ]);
  });
});

it("a client that connects during the call gets the whole text", async () => {
  clients = { ann: reading };
  let time = 0;
  const table = createMemoryTable();
  const broadcast = {
    ...createBroadcast(table, sockets, () => time),
    clients: async () => Object.keys(clients),
  };
  const peers = connectedPeers({ table, broadcast, now: () => time });
  const recent = () => peers.clients(time - freshPeersMs);
  const deltas = streamDeltas({ broadcast }, sessionKey, { runId: "run", attempt: 1, step: 0 }, recent);
  deltas.add("before ");
  await vi.advanceTimersByTimeAsync(300);
  clients = { ann: reading, bob: reading };
  time = 1500;
  deltas.add("after");
  await vi.runAllTimersAsync();
  expect([textOf("ann"), textOf("bob")]).toEqual(["before after", "before after"]);
  expect([seqsTo("ann"), seqsTo("bob")]).toEqual([[0, 1], [0]]);
});

it("a client whose delta is lost gets no more deltas of the call, because its text would have a gap, and all of the next call", async () => {
  let failures = 1;
  clients = {
    ann: () => ({ afterMs: 20, outcome: failures-- > 0 ? "failed" : "sent" }),
  };
  const agent = openAgent();
  await call(agent, { said: "calls" });
  expect(kindsTo("ann")).toEqual(["delta", "calls"]);
  posts.length = 0;
  await call(agent, { step: 1 });
  expect(textOf("ann")).toBe(answer);
});

it("a payload that is too large is sent as the shorter one, and every end of a run lets a client back in", async () => {
  const outcomes: Posted[] = ["too large", "sent", "busy", "sent", "sent", "busy", "sent", "sent"];
  const sent: unknown[] = [];
  const post: Sockets["post"] = async (_, frame) => {
    sent.push((frame as { payload: { state?: string } }).payload.state);
    return outcomes.shift()!;
  };
  const broadcast = createBroadcast(createMemoryTable(), { ...sockets, post }, () => 0);
  const run = { runId: "run", sessionKey };
  const delta = { ...run, state: "delta", text: "x", seq: 0, step: 0, attempt: 1 } as const;
  const error = { ...run, state: "error", error: "no" } as const;
  const message: AssistantMessage = { role: "assistant", content: [], timestamp: 0 };
  const final = { ...run, state: "final", message } as const;
  await broadcast.send(["ann"], "chat", final, error);
  // Busy: the rest of the run is left out but for its end, behind which the client hears again.
  for (const end of [error, final]) {
    for (const event of [delta, delta, end, delta] as const) await broadcast.send(["ann"], "chat", event);
  }
  expect(sent).toEqual([
    ...["final", "error"],
    ...["delta", "error", "delta"],
    ...["delta", "final", "delta"],
  ]);
});

describe("an offer", () => {
  const delta = (seq: number) =>
    ({ runId: "run", sessionKey, state: "delta", text: `${seq}`, seq, step: 0, attempt: 1 }) as const;
  const error = { runId: "run", sessionKey, state: "error", error: "no" } as const;
  const broadcast = (outcomes: (Posted | "failed")[]) => {
    clients = { ann: () => ({ afterMs: 20, outcome: outcomes.shift()! }) };
    return createBroadcast(createMemoryTable(), sockets, () => 0);
  };
  const ended = async <T>(work: Promise<T>): Promise<T> => {
    await vi.runAllTimersAsync();
    return work;
  };

  it("says whether the client received it, and a busy client gets no other of that run", async () => {
    const { offer } = broadcast(["sent", "failed", "gone", "too large", "busy", "sent"]);
    const received: boolean[] = [];
    for (let seq = 0; seq < 6; seq++) received.push(await ended(offer("ann", "chat", delta(seq))));
    expect(received).toEqual([true, false, false, false, false, false]);
    expect(posts).toHaveLength(5);
    expect(await ended(offer("ann", "chat", { ...delta(0), runId: "other" }))).toBe(true);
  });

  it("is answered before anything else of its run is sent, also when it is followed by another", async () => {
    const { offer, send } = broadcast(["sent", "sent", "busy", "sent"]);
    const first = offer("ann", "chat", delta(0)).then(() => offer("ann", "chat", delta(1)));
    const other = send(["ann"], "chat", { ...error, runId: "other" });
    const end = send(["ann"], "chat", error);
    await ended(Promise.all([first, other, end]));
    expect(posts.map(({ event, at }) => [event.runId, event.state, at])).toEqual([
      ["run", "delta", 20],
      ["other", "error", 20],
      ["run", "delta", 40],
      ["run", "error", 60],
    ]);
  });
});

it("a connection that is gone is removed from the clients, and an event without a run always reaches its client", async () => {
  const table = createMemoryTable();
  const tokenId = "t";
  const record = { connectionId: "ann", openedAt: 0, tokenId };
  await table.put({ pk: "TOKEN", sk: tokenId });
  await openConnection(table, record);
  const ann = { ...record, id: "ann", mode: "client", connectedAt: 0, version: "0", platform: "" } as const;
  await bindPeer(table, record, ann);
  const outcomes: Posted[] = ["busy", "sent", "gone"];
  const sent: Posted[] = [];
  const post = async () => sent[sent.push(outcomes.shift()!) - 1]!;
  const { clients: known, send } = createBroadcast(table, { ...sockets, post }, () => 0);
  for (let i = 0; i < 3; i++) {
    expect(await known()).toEqual(["ann"]);
    await send(["ann"], "node.changed", {} as never);
  }
  expect(await known()).toEqual([]);
  expect(sent).toEqual(["busy", "sent", "gone"]);
});
