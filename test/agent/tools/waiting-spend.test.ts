import { expect, it } from "vitest";
import { isReply } from "../../../shared/protocol/messages.ts";
import { localTime } from "../../../shared/runtime/zoned-time.ts";
import { recordResult } from "../../../shared/session/calls.ts";
import { entryOf, readDay } from "../../../shared/spend/day-view.ts";
import { entryName } from "../../../shared/spend/entry-name.ts";
import { readPaid } from "../../../shared/spend/paid.ts";
import { immortal, userTimezone } from "../bench.ts";
import {
  answer,
  approving,
  askingForProbe,
  invoke,
  now,
  on,
  openHere,
  otherSession,
  probe,
  runOf,
  say,
  useApprovalBench,
} from "./approval-bench.ts";

useApprovalBench();

const day = () => readDay(on.state.table, localTime(now(), userTimezone).date);

/** The calls that today's report has completely. */
async function reported(): Promise<number> {
  const rows = [...(await day()).rows.values()];
  return rows.reduce((sum, row) => sum + (row[0] ?? 0) - (row[8] ?? 0), 0);
}

/** What the day counts for the session, and what the session knows to have spent; μ$. */
async function counted() {
  const { paid = "" } = await on.bench.state(on.sessionKey);
  const entry = entryOf(await day(), entryName(on.sessionKey, true));
  return { day: entry?.amounts.all, session: readPaid(paid).spent.all };
}

/** Answers requests and calls until the run has ended. */
async function finish(): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const run = await runOf();
    if (!run) return;
    if ((await openHere()).length > 0) await answer("allow");
    for (const callId of Object.keys(run.pending)) {
      const call = { sessionKey: on.sessionKey, runId: run.runId, step: run.step, callId };
      await recordResult(on.state, call, "pi", { result: { content: [] } }, now());
    }
    await invoke();
  }
  throw new Error("the run does not end");
}

/** Begins a run that calls a tool, in a process that dies after this number of AWS calls. @returns whether it died */
async function begin(left: number): Promise<boolean> {
  otherSession();
  on.replies = [{ toolCalls: [probe] }];
  await say("go");
  const life = { ...immortal(), left };
  await invoke(life);
  return life.left === 0;
}

it.each([
  ["a node", () => approving({})],
  ["the owner", askingForProbe],
])("a call is reported once if its run waits for %s, wherever the process is killed", async (_, approve) => {
  approve();
  for (let [left, isKilled] = [0, true]; isKilled; left++) {
    const before = await reported();
    isKilled = await begin(left);
    // The killed model call has used the reply, and is repeated.
    if ((await runOf())?.phase === "model") on.replies = [{ toolCalls: [probe] }];
    await finish();
    const replies = (await on.bench.live(on.sessionKey)).filter(isReply).length;
    expect([left, (await reported()) - before]).toEqual([left, replies]);
  }
});

it("while the owner is asked, a day counts what was spent, although the process that asked was killed", async () => {
  askingForProbe();
  for (let [left, isKilled] = [0, true]; isKilled; left++) {
    isKilled = await begin(left);
    if ((await runOf())?.phase !== "tools") continue;
    await invoke();
    const { day, session } = await counted();
    expect([left, day]).toEqual([left, session]);
  }
});
