import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { readPreviousIds } from "../../../shared/session/previous-ids.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelRequest, ModelServer } from "../../support/models/scripted-model.ts";
import { type State, startState } from "../../support/state.ts";
import { type Bench, openBench } from "../bench.ts";

const main = "agent:main:main";
const group = "agent:main:telegram:group:-100";
const guest = "agent:main:telegram:guest:9";

let state: State;
let model: ModelServer;
let bench: Bench;
let asked: ModelRequest[];
let ids = 0;

beforeAll(async () => {
  model = await startOpenAiServer((request) => {
    asked.push(request);
    const text = request.turns.at(-1)?.text ?? "";
    if (request.turns.at(-1)?.role === "tool" || !text.includes("call ")) return { text: "heard" };
    const { name = "gsv__session_logs", ...args } = JSON.parse(text.slice(text.indexOf("call ") + 5));
    return { toolCalls: [{ name, arguments: JSON.stringify(args) }] };
  });
});
beforeEach(async () => {
  state = await startState();
  asked = [];
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  bench.configuration.compaction.extractMemories = false;
  bench.configuration.channels = { telegram: { owners: ["1"] } };
  return () => state.close();
});
afterAll(() => model.close());

const rooms: Record<string, Partial<InboxEntry>> = {
  [group]: channelEntry("group", "-100", "owner"),
  [guest]: channelEntry("dm", "9", "guest"),
};

function channelEntry(kind: string, id: string, role: "owner" | "guest"): Partial<InboxEntry> {
  const origin = { kind: "channel", channel: "telegram", accountId: "default", peer: { kind, id } };
  return { origin, role, senderId: role === "owner" ? "1" : id } as Partial<InboxEntry>;
}

async function say(text: string, sessionKey = main): Promise<void> {
  const entry = {
    id: `m${++ids}`,
    at: Date.now() + bench.later,
    kind: "message",
    text,
    origin: { kind: "client" },
  };
  await bench.submit(sessionKey, { ...entry, ...rooms[sessionKey] } as InboxEntry);
  await holdSession(bench.agent(), sessionKey, () => 900_000);
}

async function reset(sessionKey = main): Promise<void> {
  const entry = { id: `r${++ids}`, at: Date.now() + bench.later, kind: "reset", via: "method" };
  await bench.submit(sessionKey, { ...entry, origin: { kind: "client" } } as InboxEntry);
  await holdSession(bench.agent(), sessionKey, () => 900_000);
}

async function previous(): Promise<string[]> {
  return readPreviousIds(state.table, await bench.state(main));
}

interface Answer {
  count: number;
  hits: {
    session_id: string;
    message: number;
    preview: string;
    truncated: boolean;
    source: string;
    role: string;
  }[];
  sessions: { session_id: string; session: string; entry_count: number; source: string }[];
  entries: { message: number; content: string; truncated: boolean; role: string; source_plugin: string }[];
  total_entries: number;
  returned: number;
  truncated: boolean;
  note?: string;
}

/** The tool's answer in a conversation; an error as its text. */
async function logs(args: object, sessionKey = main): Promise<Answer & { error?: string }> {
  await say(`call ${JSON.stringify(args)}`, sessionKey);
  const result = (await bench.live(sessionKey)).findLast(
    (message) => message.role === "toolResult",
  ) as Message;
  const text = textOf(result);
  const answer = text.startsWith("{") ? JSON.parse(text) : { error: text };
  return answer.result ?? answer;
}

const search = (query: string, sessionKey = main, more: object = {}) =>
  logs({ action: "search", query, ...more }, sessionKey);
const previews = (answer: Answer) => answer.hits.map(({ preview }) => preview);

describe("gsv__session_logs", () => {
  it("I22: finds messages of this conversation and of archived ones, ignoring case", async () => {
    await say("my sister lives in OSLO");
    await reset();
    await say("the plumber comes on Tuesday");
    expect(previews(await search("oslo"))).toContain("my sister lives in OSLO");
    expect(previews(await search("When does the PLUMBER come?"))).toContain("the plumber comes on Tuesday");
    expect(previews(await search("slo"))).toContain("my sister lives in OSLO");
  });

  it("finds neither the current question nor its own earlier results", async () => {
    await say("we talked about axolotls");
    expect(previews(await search("axolotls"))).toEqual(["we talked about axolotls", "heard"]);
    const again = await search("axolotls");
    expect(again.hits.filter(({ role }) => role === "tool")).toEqual([]);
  });

  it("I22: lists the conversations, the latest first", async () => {
    await say("one");
    await reset();
    bench.later += 60_000;
    await say("two");
    const { sessions } = await logs({ action: "list_sessions" });
    const { sessionId } = await bench.state(main);
    expect(sessions.map(({ session_id }) => session_id)).toEqual([sessionId, ...(await previous())]);
    expect(sessions[1]).toMatchObject({ session: main, entry_count: 2, source: "main" });
  });

  it("I22: reads a conversation in order, and returns its length", async () => {
    for (const text of ["one", "two", "three"]) await say(text);
    expect(await previous()).toEqual([]);
    await reset();
    const [session_id] = await previous();
    const read = await logs({ action: "read_session", session_id, limit: 3 });
    expect(read).toMatchObject({ total_entries: 6, returned: 3, truncated: true });
    expect(read.entries.map(({ content }) => content)).toEqual(["one", "heard", "two"]);
    expect(read.entries[0]).toMatchObject({
      message: 1,
      role: "user",
      source_plugin: "client",
      truncated: false,
    });
    const rest = await logs({ action: "read_session", session_id, from_message: 4 });
    expect(rest).toMatchObject({ returned: 3, truncated: false });
  });

  it("I22: says that a session is not found", async () => {
    const { error } = await logs({ action: "read_session", session_id: "nobody" });
    expect(error).toContain("session_not_found: nobody");
  });

  it("I22: shows the end of this conversation, ten entries by default", async () => {
    for (let i = 0; i < 7; i++) await say(`message ${i}`);
    const { entries, count } = await logs({ action: "recent" });
    expect(count).toBe(10);
    expect(entries.at(0)?.content).toBe("heard");
    expect((await logs({ action: "recent", limit: 1, session_id: main })).count).toBe(1);
  });

  it("I22: names the argument that an action needs", async () => {
    expect((await logs({ action: "search" })).error).toContain("query: this action needs it");
    expect((await logs({ action: "read_session" })).error).toContain("session_id: this action needs it");
  });

  it("I23: shows 50 entries by default and 500 at most, and 20 to 4,000 characters of each", async () => {
    const long = "x".repeat(5000);
    const messages: Message[] = Array.from({ length: 600 }, (_, i) => ({
      role: "user",
      content: `apple ${long} ${i}`,
      timestamp: 1000 + i,
    }));
    await bench.seed("agent:main:work", messages);
    const read = (more: object) => logs({ action: "read_session", session_id: "agent:main:work", ...more });
    const lengths = async (more: object) =>
      (await read({ limit: 1, ...more })).entries.map((e) => [...e.content].length);
    expect((await read({ max_chars: 20 })).returned).toBe(50);
    expect((await read({ limit: 9999, max_chars: 20 })).returned).toBe(500);
    expect(await lengths({})).toEqual([201]);
    expect(await lengths({ max_chars: 1 })).toEqual([21]);
    expect(await lengths({ max_chars: 99_999 })).toEqual([4001]);
    const [entry] = (await read({ limit: 1 })).entries;
    expect(entry).toMatchObject({ truncated: true, content: expect.stringMatching(/…$/) });
  });

  it("I24: finds nothing of another agent", async () => {
    await say("the safe is behind the painting", "agent:work:main");
    await reset("agent:work:main");
    await say("hello", "agent:work:main");
    expect((await search("safe painting")).hits).toEqual([]);
    expect((await logs({ action: "list_sessions" })).sessions.map(({ session }) => session)).not.toContain(
      "agent:work:main",
    );
  });

  it("I25: is not offered if the configuration turns it off", async () => {
    bench.configuration.memory.sessionLogs = false;
    expect((await search("anything")).error).toContain("Tool not found");
  });

  it("C18: is found by its bare name", async () => {
    await say("kumquat");
    expect((await logs({ name: "session_logs", action: "recent" })).count).toBe(3);
  });
});

describe("C8: the searched conversations", () => {
  const secrets = ["private-kiwi-1", "private-kiwi-2"];

  beforeEach(async () => {
    await say(`the code is ${secrets[0]}`);
    await reset();
    await say(`the new code is ${secrets[1]}`);
    await say("the picnic is on Sunday", group);
    await reset(group);
    await say("bring a blanket", group);
  });

  it("the main conversation finds messages of a group, and sees their source", async () => {
    const { hits } = await search("picnic");
    expect(hits[0]).toMatchObject({ preview: "the picnic is on Sunday", source: "from a group" });
  });

  it("a group finds only its own messages, also those before its reset", async () => {
    expect(previews(await search("picnic", group))).toContain("the picnic is on Sunday");
    const { sessionId } = await bench.state(main);
    const ids = [main, sessionId, ...(await previous())];
    const attempts = [
      ...["code", "kiwi", "what is the new code", "priv"].map((query) => ({ action: "search", query })),
      { action: "list_sessions" },
      ...ids.map((session_id) => ({ action: "read_session", session_id })),
      ...ids.map((session_id) => ({ action: "recent", session_id })),
    ];
    for (const attempt of attempts) {
      const answer = JSON.stringify(await logs(attempt, group));
      for (const secret of secrets) expect(answer).not.toContain(secret);
    }
    const { sessions } = await logs({ action: "list_sessions" }, group);
    expect(new Set(sessions.map(({ session }) => session))).toEqual(new Set([group]));
  });

  it("a named conversation finds, lists and reads what main and named ones heard, and no group", async () => {
    await say("buy nails", "agent:main:shed");
    const found = previews(await search("code kiwi nails", "agent:main:errands"));
    expect(found).toEqual(
      expect.arrayContaining(["buy nails", ...secrets.map((one) => expect.stringContaining(one))]),
    );
    expect(previews(await search("picnic blanket", "agent:main:errands"))).toEqual([]);
    const { sessions } = await logs({ action: "list" }, "agent:main:errands");
    expect(new Set(sessions.map(({ session }) => session))).toEqual(
      new Set([main, "agent:main:shed", "agent:main:errands"]),
    );
    const { sessionId } = await bench.state(group);
    expect((await logs({ action: "read", session_id: sessionId }, "agent:main:errands")).error).toContain(
      "not_found",
    );
  });

  it("a guest is not offered it", async () => {
    expect((await search("code", guest)).error).toContain("Tool not found");
  });
});

describe("segments", () => {
  const segments = async () => (await state.bucket.list("agents/main/recall/")).objects.map(({ key }) => key);

  it("are written by a reset, or after a crash by the next search", async () => {
    await say("the wifi password is sheepdog");
    await reset();
    const [written] = await segments();
    expect(written).toMatch(/\/recall\/\d{4}-q[1-4]\.1\.json\.gz$/);
    await state.bucket.delete(written as string);
    expect(previews(await search("wifi password"))).toContain("the wifi password is sheepdog");
    expect(await segments()).toEqual([written]);
  });

  it("contain a message once, with the same number before and after a compaction", async () => {
    await say("the train leaves at seven");
    for (let i = 0; i < 4; i++) await say(`filler number ${i}`);
    const before = await search("train leaves");
    const compact = {
      id: "c1",
      at: Date.now(),
      kind: "compact",
      keep: 2,
      via: "method",
      origin: { kind: "client" },
    };
    await bench.submit(main, compact as InboxEntry);
    await holdSession(bench.agent(), main, () => 900_000);
    expect(await segments()).toHaveLength(1);
    const after = await search("train leaves");
    const place = ({ hits }: Answer) =>
      hits.filter(({ preview }) => preview === "the train leaves at seven").map(({ message }) => message);
    expect(place(before)).toEqual([1]);
    expect(place(after)).toEqual([1]);
  });
});
