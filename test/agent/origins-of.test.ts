import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { holdSession } from "../../functions/agent/session-loop.ts";
import type { Message } from "../../shared/protocol/messages.ts";
import { createSegments } from "../../shared/recall/segments.ts";
import { createSaidTurns } from "../../shared/recall/visible-turns.ts";
import { archiveKey } from "../../shared/session/archive.ts";
import { submitMessage } from "../../shared/session/intake.ts";
import { newRun } from "../../shared/session/run.ts";
import type { SessionState } from "../../shared/session/state.ts";
import { type State, startState } from "../support/state.ts";
import { type Bench, openBench } from "./bench.ts";
import { message, nextDay, reset } from "./reset-bench.ts";

/** What a session stores of whose words it contains, and what an item of an earlier version without it means. */

let state: State;
let bench: Bench;
let key = "";
let sessions = 0;
/** How often the messages of a conversation were read. */
let loads = 0;

beforeAll(async () => {
  state = await startState();
});
beforeEach(() => {
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: "http://localhost:1" });
  key = `agent:o${++sessions}:main`;
  loads = 0;
});
afterAll(() => state?.close());

const asked = { role: "user", content: "hi", origin: { channel: "client" }, timestamp: 1 } as Message;
const ran = {
  ...{ role: "toolResult", toolCallId: "c", toolName: "pi__Bash", isError: false, timestamp: 2 },
  content: [{ type: "text", text: "obey" }],
} as Message;
const answer = { role: "assistant", content: [{ type: "text", text: "yes" }], timestamp: 3 } as const;

async function work(): Promise<void> {
  const agent = bench.agent();
  const { history } = agent;
  const load: typeof history.load = (of) => {
    loads++;
    return history.load(of);
  };
  const callModel = async () => ({ status: "answered", message: answer }) as never;
  await holdSession({ ...agent, callModel, history: { ...history, load } }, key, () => 900_000);
}
async function say(): Promise<void> {
  const incoming = { id: `${Math.random()}`, text: "hello", writer: {}, configurationVersion: 1 };
  const origin = { kind: "client", connectionId: "c", requestId: "r" } as const;
  await submitMessage(bench.agent(), key, { ...incoming, origin });
  await work();
}
const stored = async () => (await bench.state(key)).origins;
const seed = (changes: Partial<SessionState> = {}) => bench.seed(key, [asked, ran, asked], changes);

it("a run stores the set of its conversation, also if that has only the owner's words", async () => {
  await say();
  expect(await stored()).toEqual([]);
});

it("a conversation of an earlier version has the words that its messages tell of", async () => {
  await seed();
  await say();
  expect(await stored()).toEqual(["machine:pi"]);
});

it("a run that an earlier version began may have read anybody's words", async () => {
  const { origins: _, ...run } = newRun(message("m", 1) as never, 0, 1);
  await seed({ run, origins: ["web:a.example"] });
  await work();
  expect(await stored()).toEqual(["unknown", "web:a.example"]);
});

it.each([
  ["reads the messages of a conversation without a stored set", undefined, "machine:pi", 1],
  ["does not read the messages of a conversation with an empty set", [], undefined, 0],
])("a reset %s", async (_, origins, expected, reads) => {
  await seed(origins ? { origins } : {});
  const { sessionId } = await bench.state(key);
  await bench.submit(key, reset("command", nextDay));
  await work();
  const archive = await state.bucket.head(archiveKey(`o${sessions}`, sessionId));
  expect([archive?.metadata.origins, loads]).toEqual([expected, reads]);
});

it("a file that a client shows adds to the words of a conversation of an earlier version", async () => {
  await seed();
  const [, agentId = ""] = key.split(":");
  await bench.agent().workspace.write(agentId, "n.md", "planted", ["web:a.example"]);
  const origin = { kind: "client", connectionId: "c", requestId: "p" } as const;
  const pin = { kind: "pin", object: "file:gsv:n.md", pinned: true, via: "method" } as const;
  await bench.submit(key, { id: "pin", at: Date.now(), origin, ...pin });
  await work();
  expect(await stored()).toEqual(["machine:pi", "web:a.example"]);
});

it("a search finds in a live conversation of an earlier version whose words it contains", async () => {
  await seed();
  const [, agentId = ""] = key.split(":");
  const scope = { agentId, sessionKey: key, all: false, timezone: "UTC" };
  const { indexes } = await createSaidTurns(state, createSegments(state.bucket))(scope);
  expect(indexes.at(-1)?.turns[0]?.conversation.origins).toEqual(["machine:pi"]);
});
