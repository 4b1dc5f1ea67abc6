import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Message } from "../../shared/protocol/messages.ts";
import { findArchives, readArchive } from "../../shared/session/archive.ts";
import { metaKey } from "../../shared/session/state.ts";
import { set } from "../../shared/world/expression.ts";
import type { Item, Key } from "../../shared/world/world.ts";
import { isReading } from "../support/models/model-window.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { openClient, openNode, type Peer } from "../support/peer.ts";
import { until } from "../support/until.ts";
import { otherThan, startTwoVersions, type TwoVersions, type Version, versions } from "./two-versions.ts";

/** Long enough for a summary to be shorter. */
const long = (text: string) => `${text} ${"long ".repeat(400)}`;
const [first, second] = [long("first"), long("second")] as const;
const said = [first, "hello to you", second, "hello to you"];

let both: TwoVersions;
let model: ModelServer;
let client: Peer;
let node: Peer;
/** The conversation of two turns that each version has held. */
const sessionIds = {} as Record<Version, string>;

beforeAll(async () => {
  model = await startOpenAiServer((request) => {
    const last = request.turns.at(-1)!;
    if (isReading(request)) return { text: "<summary>so far</summary><memories>- likes tea</memories>" };
    if (last.role === "user" && last.text.endsWith("run it"))
      return { toolCalls: [{ name: "laptop__Bash", arguments: { command: "date" } }] };
    return { text: "hello to you" };
  });
  both = await startTwoVersions();
  await both.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    session: { defaultResetPolicy: { mode: "manual" } },
    // Interrupted calls are charged as a whole; near a limit an extraction is put off.
    budgets: { enabled: false },
  });
  client = await openClient(both.cloud.ws, both.token);
  node = await openNode(both.cloud.ws, both.token, "laptop", { Bash: () => "done" });
  for (const version of versions) {
    both.use(version);
    for (const message of [first, second]) await say(`agent:${version}:main`, message);
    sessionIds[version] = (await history(`agent:${version}:main`)).currentSessionId;
  }
  await both.settled();
});
afterAll(async () => {
  for (const peer of [client, node]) await peer?.close();
  await both?.close();
  await model?.close();
});

let runs = 0;
async function say(sessionKey: string, message: string): Promise<void> {
  const runId = `run-${++runs}`;
  await client.call("chat.send", { sessionKey, message, runId });
  expect(await client.ended(runId)).toMatchObject({ state: "final" });
}

interface History {
  currentSessionId: string;
  previousSessionIds: string[];
}
const history = (sessionKey: string) => client.call<History>("session.history", { sessionKey });

/** The texts of a conversation: those of its archives, and then the live ones. */
async function texts(sessionKey: string, sessionId: string): Promise<string[]> {
  const { parts, final } = await findArchives(both.bucket, sessionKey.split(":")[1]!, sessionId);
  const messages: Message[] = [];
  for (const key of [...parts, ...(final === undefined ? [] : [final])])
    for await (const message of readArchive(both.bucket, key)) messages.push(message);
  const live = await client.call<{ sessionId: string; messages: Message[] }>("session.preview", {
    sessionKey,
  });
  if (live.sessionId === sessionId) messages.push(...live.messages);
  return messages.map(({ content }) =>
    typeof content === "string"
      ? content
      : content.map((part) => ("text" in part ? part.text : part.type)).join(),
  );
}

async function memoriesOf(sessionKey: string): Promise<string> {
  const agentId = sessionKey.split(":")[1]!;
  const { objects } = await both.bucket.list(`agents/${agentId}/memory/`);
  const files = await Promise.all(objects.map(({ key }) => both.bucket.get(key)));
  return files.map((file) => Buffer.from(file!.body).toString()).join("\n");
}

interface Scenario {
  /** Makes the request of which one version does some steps and the other one the rest. */
  ask(sessionKey: string): Promise<unknown>;
  /** Checks the whole outcome. `before`: the conversation of the two turns before the request. */
  check(sessionKey: string, before: string, answer: unknown): Promise<void>;
}

/** The memories were appended once. */
async function expectMemories(sessionKey: string): Promise<void> {
  expect((await memoriesOf(sessionKey)).split("- likes tea\n")).toHaveLength(2);
}

const scenarios: Record<string, Scenario> = {
  "a reset": {
    ask: (sessionKey) => client.call("session.reset", { sessionKey }),
    async check(sessionKey, before, answer) {
      const { currentSessionId, previousSessionIds } = await history(sessionKey);
      expect(answer).toMatchObject({ oldSessionId: before, newSessionId: currentSessionId });
      expect(answer).toMatchObject({ archivedMessages: 4 });
      expect(previousSessionIds).toEqual([before]);
      expect(await texts(sessionKey, before)).toEqual(said);
      await expectMemories(sessionKey);
    },
  },
  "a compaction": {
    ask: (sessionKey) => client.call("session.compact", { sessionKey, keepMessages: 2 }),
    async check(sessionKey, before, answer) {
      expect(answer).toMatchObject({ ok: true, trimmedMessages: 2, keptMessages: 2 });
      const all = await texts(sessionKey, before);
      expect(all).toEqual([...said.slice(0, 2), expect.stringContaining("so far"), ...said.slice(2)]);
      await expectMemories(sessionKey);
    },
  },
  "a turn with a tool": {
    ask: (sessionKey) => say(sessionKey, "run it"),
    async check(sessionKey, before) {
      expect(await texts(sessionKey, before)).toEqual([
        ...said,
        "run it",
        "toolCall",
        "done",
        "hello to you",
      ]);
    },
  },
};

/** Copies the items of an idle session, as if the same had been said in the other one. */
async function copySession(from: string, to: string): Promise<void> {
  for (const item of await both.table.query({ pk: `S#${from}` }))
    await both.table.put(JSON.parse(JSON.stringify(item).replaceAll(from, to)) as Item & Key);
}

/** Lets time pass until the lease of a dead agent has ended, and wakes the next one, as the sweep does. */
async function takeOver(sessionKey: string): Promise<void> {
  await both.table.update(metaKey(sessionKey), [set("leaseUntil", 1)]);
  await both.cloud.fire("agent", { sessionKey });
}

/** The current version extracts the memories of a reset that the previous one finished, or that it left itself. */
async function extractLeft(sessionKey: string): Promise<void> {
  both.use("current");
  const pk = `EXTRACT#${sessionKey.split(":")[1]}`;
  for (;;) {
    const { extracting } = (await both.table.get(metaKey(sessionKey)))!;
    const pending = (await both.table.query({ pk })).filter(({ state }) => state === "pending");
    if (extracting === undefined && pending.length === 0) return;
    for (const { sk } of pending) await both.table.update({ pk, sk: String(sk) }, [set("leaseUntil", 1)]);
    await both.cloud.fire("agent", { sessionKey });
    await both.settled();
  }
}

describe.each(Object.entries(scenarios))(
  "%s that is interrupted after each of its writes",
  (name, scenario) => {
    it.each(versions)("in the %s release is finished by the other one", async (version) => {
      for (let writes = 0, isWhole = false; !isWhole; writes++) {
        const sessionKey = `agent:${version}-${name.replaceAll(" ", "-")}-${writes}:main`;
        both.use(version);
        await copySession(`agent:${version}:main`, sessionKey);
        both.cutAgent(writes);
        const asked = scenario.ask(sessionKey);
        asked.catch(() => {});
        await Promise.race([asked, until(() => both.isCut(), "the agent was interrupted")]);
        await both.settled();
        isWhole = !both.mendAgent();
        both.use(otherThan(version));
        if (!isWhole) await takeOver(sessionKey);
        const note = `${name} after ${writes} writes`;
        const answer = await asked.catch((error: Error) => expect.fail(`${note}: ${error.message}`));
        await both.settled();
        await extractLeft(sessionKey);
        await scenario.check(sessionKey, sessionIds[version], answer);
        const state = await both.table.get(metaKey(sessionKey));
        const left = ["owner", "run", "resetting", "compacting", "clearFrom", "duePk"].filter(
          (name) => name in state!,
        );
        expect([state!.inbox, left], note).toEqual([[], []]);
        if (isWhole) expect(writes, note).toBeGreaterThan(5);
      }
    });
  },
);

it.each(versions)(
  "the other release's sweep wakes a session whose agent in the %s one died",
  async (version) => {
    const sessionKey = `agent:${version}-swept:main`;
    both.use(version);
    both.cutAgent(1);
    const said = say(sessionKey, "first");
    await until(() => both.isCut(), "the agent was interrupted");
    await both.settled();
    both.mendAgent();
    both.use(otherThan(version));
    await both.table.update(metaKey(sessionKey), [set("leaseUntil", 1), set("dueAt", 1)]);
    await both.cloud.fire("timer", { kind: "sweep" });
    await said;
  },
);
