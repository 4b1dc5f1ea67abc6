import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { filesOf, listCommits } from "../../shared/git/commits.ts";
import { openRepository } from "../../shared/git/repository.ts";
import type { SessionState } from "../../shared/session/state.ts";
import { isReading } from "../support/models/model-window.ts";
import { conversation, message, nextDay, ResetBench, reset } from "./reset-bench.ts";

const resets = new ResetBench();
beforeAll(() => resets.start());
beforeEach(() => resets.renew());
afterAll(() => resets.close());

/** The commits of the workspace's history, each with what it holds. */
async function closings(before: SessionState): Promise<string[]> {
  const repository = openRepository(resets.state.bucket, resets.agentId);
  const name = (text: string) =>
    text.replace(`${resets.key} ${before.sessionId}`, "old").replace(/\d{4}-\d{2}-\d{2}/, "today");
  return Promise.all(
    (await listCommits(repository, 10)).map(async ({ message, tree }) =>
      name([message, ...(await filesOf(repository, tree)).keys()].join(" ")),
    ),
  );
}

/** Everything that a reset leaves behind, without what is different each time. */
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
    keys: [
      ...(await resets.keysUnder(`agents/${resets.agentId}/`)).filter((key) => !key.includes("/.git/")),
      ...(await resets.keysUnder(`media/${resets.key}/`)),
    ]
      .map((one) => one.replace(resets.agentId, "agent").replace(before.sessionId, "old"))
      // A prompt names its agent, and holds the memories.
      .map((one) => one.replace(/objects\/\w+$/, "objects/prompt")),
    history: await closings(before),
    metadata: { ...head?.metadata, sessionKey: "", sessionId: "", agentId: "", archivedAt: "" },
    archived: await resets.archived(before.sessionId),
    memory: (await resets.memories())?.replace(/\(\d+\)/g, ""),
  };
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
      // The commit of the workspace is the same in all three, and makes a third of the calls.
      const withHistory = name === "by session.reset";
      resets.bench.configuration.workspaceGit.enabled = withHistory;
      // Asked again, a model says it in other words.
      let asked = 0;
      resets.reply = (request) => ({
        text: isReading(request) ? `<memories>- likes tea (${++asked})</memories>` : "hello",
        usage: { input: 7, output: 3 },
      });
      const run = async (calls: number) => {
        resets.newSession();
        resets.bench.posted.length = 0;
        const before = await resets.seed();
        await resets.submit(entry);
        const made: string[] = [];
        resets.allow = (action) => {
          if (made.length >= calls) return false;
          made.push(action);
          return true;
        };
        const killed = await resets.invoke(nextDay).then(
          () => false,
          () => true,
        );
        resets.allow = () => true;
        // Another process comes when the lease of the one that died has run out.
        if (killed || (await resets.current()).inbox.length > 0) await resets.invoke(nextDay + 31_000);
        return { made, killed, ended: await outcome(before), responses: resets.responses() };
      };

      const whole = await run(Number.POSITIVE_INFINITY);
      expect(whole.killed).toBe(false);
      expect(whole.ended.archived).toEqual(conversation);
      expect(whole.ended.history).toEqual(withHistory ? ["session-close: old memory/today.md"] : []);
      expect(whole.ended.memory?.split("###")).toHaveLength(2);
      expect(whole.made.length).toBeGreaterThan(20);
      for (let calls = 0; calls < whole.made.length; calls++) {
        const place = `killed after ${calls} calls, the last ${whole.made[calls - 1]}`;
        const broken = await run(calls);
        expect(broken.ended, place).toEqual(whole.ended);
        expect(broken.responses.length > 0, place).toBe(whole.responses.length > 0);
        // Told twice, it is told the same.
        const told = new Set(broken.responses.map((response) => JSON.stringify(response)));
        expect(told.size, place).toBeLessThanOrEqual(1);
      }
    },
    600_000,
  );
});
