import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { blobsOf, listCommits } from "../../shared/git/commits.ts";
import { openRepository } from "../../shared/git/repository.ts";
import type { SessionState } from "../../shared/session/state.ts";
import { isReading } from "../support/models/model-window.ts";
import { type MemoryState, startState } from "../support/state.ts";
import { type Bench, copiesBefore } from "./bench.ts";
import { conversation, message, nextDay, ResetBench, reset } from "./reset-bench.ts";

const resets = new ResetBench();
let empty: MemoryState;
beforeAll(() =>
  resets.start(async (allow) => {
    empty = await startState(allow);
    return empty;
  }),
);
beforeEach(() => resets.renew());
afterAll(() => resets.close());

/** The commits of the workspace's history, each with its files. */
async function closings(before: SessionState): Promise<string[]> {
  const repository = openRepository(resets.state.bucket, resets.agentId);
  const name = (text: string) =>
    text.replace(`${resets.key} ${before.sessionId}`, "old").replace(/\d{4}-\d{2}-\d{2}/, "today");
  return Promise.all(
    (await listCommits(repository, 10)).map(async ({ message, tree }) =>
      name([message, ...(await blobsOf(repository, tree)).keys()].join(" ")),
    ),
  );
}

/** Everything that a reset leaves behind, without the parts that differ each time. */
async function outcome(before: SessionState) {
  const after = await resets.current();
  const { sessionId, lastResetAt } = after;
  const { first, inbox, inboxBytes, tokens, run, resetting, resetScheduledFor } = after;
  const head = await resets.state.bucket.head(resets.archiveKey(before.sessionId));
  return {
    ...{ first, inbox, inboxBytes, tokens, run, resetting, resetScheduledFor, isDue: "dueAt" in after },
    isHeld: after.owner !== undefined || after.leaseUntil !== undefined,
    isSession: after.createdAt === before.createdAt,
    wasActive: after.updatedAt > before.updatedAt,
    isNew: sessionId !== before.sessionId && /^[0-9a-f-]{36}$/.test(sessionId),
    wasReset: Number(lastResetAt) >= nextDay,
    archivedAtReset: head?.metadata.archivedAt === String(lastResetAt),
    previousSessionIds: (await resets.previous()).map((id) => (id === before.sessionId ? "old" : id)),
    live: (await resets.live()).map(({ role, content }) => ({ role, content })),
    rows: (await resets.bench.items(resets.key)).map((item) => String(item.sk).replace(sessionId, "new")),
    keys: (await resets.keysUnder(""))
      .filter((key) => !key.includes("/.git/"))
      .map((one) => one.replace(resets.agentId, "agent").replace(before.sessionId, "old"))
      // A prompt contains its agent's name and the memories.
      .map((one) => one.replace(/objects\/\w+$/, "objects/prompt")),
    history: await closings(before),
    metadata: { ...head?.metadata, sessionKey: "", sessionId: "", agentId: "", archivedAt: "" },
    archived: await resets.archived(before.sessionId),
    memory: (await resets.memories())?.replace(/\(\d+\)/g, ""),
    // Repeated events are equal.
    told: [...new Set(resets.responses().map((one) => JSON.stringify(one).replace(sessionId, "new")))],
  };
}

/** The state that a process leaves behind if it dies at one of its AWS calls. */
interface Remains {
  /** The first call that fails. */
  next: string;
  state: MemoryState;
  posted: Bench["posted"];
}

/** Invokes the agent in this state. Returns the state before each of its calls. */
async function invokeAndCopy(state: MemoryState): Promise<Remains[]> {
  const { copies, before } = copiesBefore((next: string) => ({
    ...{ next, state: state.copy(), posted: [...resets.bench.posted] },
  }));
  resets.allow = (next) => before(next).then(() => true);
  await resets.invoke(nextDay);
  resets.allow = () => true;
  return copies;
}

describe("a reset killed after each of its AWS calls in turn", () => {
  const scenarios = {
    "by a message after the boundary": message("good morning", nextDay),
    "by session.reset": reset("method", nextDay),
    "by the schedule": reset("policy", nextDay),
  };

  it.each(Object.entries(scenarios))(
    "%s ends as one that was not killed: one archive, one memory section, no message lost",
    async (name, entry) => {
      const { configuration } = resets.bench;
      // The workspace commit is the same in all three, and a third of the calls.
      const withHistory = name === "by session.reset";
      configuration.workspaceGit.enabled = withHistory;
      // A second model call answers in other words.
      let asked = 0;
      resets.reply = (request) => ({
        text: isReading(request) ? `<memories>- likes tea (${++asked})</memories>` : "hello",
        usage: { input: 7, output: 3 },
      });
      const goOn = (state: MemoryState, posted: Bench["posted"] = []) => {
        resets.goOn(state);
        Object.assign(resets.bench, { configuration, posted });
      };

      const whole = empty.copy();
      goOn(whole);
      const before = await resets.seed();
      await resets.submit(entry);
      const remains = await invokeAndCopy(whole);
      const ended = await outcome(before);
      expect(ended.told).toHaveLength(name === "by session.reset" ? 1 : 0);
      expect(ended.archived).toEqual(conversation);
      expect(ended.history).toEqual(withHistory ? ["session-close: old memory/today.md"] : []);
      // No media, and no body of a message.
      expect(ended.keys.filter((key) => !key.endsWith("/prompt"))).toEqual([
        "agents/agent/memory/2026-03-01.md",
        "agents/agent/recall/2026-q1.1.json.gz",
        "agents/agent/sessions/old.jsonl.gz",
      ]);
      expect(ended.memory?.split("###")).toHaveLength(2);
      expect(remains.length).toBeGreaterThan(20);
      for (const [calls, { next, state, posted }] of remains.entries()) {
        const place = `killed after ${calls} calls, before ${next}`;
        goOn(state, posted);
        const { resetting, sessionId } = await resets.current();
        const isArchived = resetting?.archivedTo !== undefined || sessionId !== before.sessionId;
        // Another process starts after the lease of the dead one has expired.
        await resets.invoke(nextDay + 31_000);
        // The sweep wakes it for an extraction that the dead one left.
        for (let later = 62_000; await resets.isExtracting(); later += 31_000)
          await resets.invoke(nextDay + later);
        expect(await outcome(before), place).toEqual(ended);
        const uploads = state.objects.requests.filter(({ operation }) => operation === "putStream");
        expect(uploads, place).toHaveLength(isArchived ? 0 : 1);
      }
    },
    600_000,
  );
});
