import { beforeEach, describe, expect, it } from "vitest";
import { listDecisions } from "../../../shared/approvals/decision-log.ts";
import { listRequests, readRequest } from "../../../shared/approvals/requests.ts";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import type { AnswerScope, Approval } from "../../../shared/protocol/approvals.ts";
import { textOf } from "../../../shared/protocol/messages.ts";
import { localTime } from "../../../shared/runtime/zoned-time.ts";
import type { Origin } from "../../../shared/session/inbox-entry.ts";
import { requestStop } from "../../../shared/session/stop.ts";
import { readBudgets } from "../../../shared/spend/budget-state.ts";
import { dayKey, readDay } from "../../../shared/spend/day-view.ts";
import { spend } from "../../support/spent-day.ts";
import { immortal, userTimezone } from "../bench.ts";
import {
  answer,
  approving,
  events,
  fire,
  invoke,
  now,
  on,
  openHere,
  probe,
  read,
  runOf,
  say,
  useApprovalBench,
} from "./approval-bench.ts";

const budgetOf = (request: Partial<Approval> | undefined) =>
  request?.requester?.kind === "budget" ? request.requester : undefined;

useApprovalBench();

type Rule = Configuration["budgets"]["rules"][number];

beforeEach(async () => {
  approving({ mode: "off" });
  await nothingSpent();
  limited({});
});

const nothingSpent = () => on.state.table.delete(dayKey(today()));

const price = { input: 5, output: 25 };

function limited(rule: Partial<Rule>): void {
  const { configuration } = on.bench;
  const rules = [{ id: "day", scope: "all", per: "day", usd: 0.01, atLimit: "ask", ...rule } as Rule];
  on.bench.configuration = {
    ...configuration,
    model: { ...configuration.model, maxTokens: 2000 },
    budgets: { ...configuration.budgets, prices: { "openai-compatible/m": price }, rules },
  };
}

const dm: Origin = { kind: "channel", channel: "telegram", accountId: "a", peer: { kind: "dm", id: "1" } };
const group: Origin = {
  kind: "channel",
  channel: "telegram",
  accountId: "a",
  peer: { kind: "group", id: "g" },
};

const last = async () => textOf((await on.bench.live(on.sessionKey)).at(-1)!);
const today = () => localTime(now(), userTimezone).date;
const states = async () =>
  (await listRequests(on.state.table, now(), 20, on.sessionKey)).map(({ state }) => state);
const logged = async () => (await listDecisions(on.state.table, now(), 20, on.sessionKey)) as unknown[];

describe("a run that reaches a budget with `ask`", () => {
  it("waits with a request that names the budget, what has used it, when it resets, and what each answer means", async () => {
    await say("go", { origin: dm });
    await invoke();
    expect(await runOf()).toMatchObject({ phase: "tools", pendingCount: 1, step: 0 });
    expect((await on.bench.state(on.sessionKey)).owner).toBeUndefined();
    const [request] = await openHere();
    expect(request).toMatchObject({
      ...{ kind: "budget", tool: "budget day", args: {}, origins: [] },
      requester: { kind: "budget", ruleId: "day", unit: "usd", spent: 0, run: budgetOf(request)?.once },
    });
    expect(events("approval.requested")).toMatchObject([{ id: request?.id, requester: { ruleId: "day" } }]);
    const [question] = on.sent;
    expect(question?.text).toMatch(
      /^May I spend more than the budget day allows\? Today's limit of \$0\.0100/,
    );
    expect(question?.text).toMatch(
      /\$0\.00 used or reserved, and the next call may cost \$0\.0\d+\. It resets at/,
    );
    expect(question?.text).toMatch(
      /once: at most \$0\.\d+ more, for the next call\nrun: at most \$0\.\d+ more/,
    );
    expect(on.sent).toHaveLength(1);
  });

  it("makes the one call that was allowed once, and asks again before the next", async () => {
    on.replies = [{ toolCalls: [read] }, { text: "finished" }];
    await say("go");
    await invoke();
    const first = (await openHere())[0]?.id;
    expect(await answer("allow")).toEqual({ status: "answered" });
    await invoke();
    const [second] = await openHere();
    expect(second).toMatchObject({ kind: "budget", step: 1 });
    expect(second?.id).not.toBe(first);
    await answer("allow");
    await invoke();
    expect([await last(), await runOf(), on.replies]).toEqual(["finished", undefined, []]);
    expect(await states()).toEqual(["allowed", "allowed"]);
    expect(await logged()).toMatchObject([
      { tool: "budget day", decision: "ask", ended: "ok", answer: { decision: "allow", scope: "once" } },
      { tool: "gsv__ReadFile" },
      { tool: "budget day", step: 1, ended: "ok" },
    ]);
  });

  it("does not ask again if the rest of the run was allowed; the next run asks", async () => {
    on.replies = [{ toolCalls: [read] }, { toolCalls: [read] }, { text: "finished" }];
    limited({ usd: 0.2 });
    const amounts = { all: 190_000 };
    const row = ["turn|main|||m", [1, 1, 1, 0, 0, 190_000, 0, 0, 0]] as const;
    await spend(on.state.table, { date: today(), sessionKey: "agent:main:other", amounts, row });
    await say("go");
    await invoke();
    await answer("allow", { scope: "run" });
    await invoke();
    expect([await last(), await runOf()]).toEqual(["finished", undefined]);
    await say("another");
    await invoke();
    expect(await openHere()).toHaveLength(1);
  });

  it("raises the limit for all if the day was allowed", async () => {
    await say("go");
    await invoke();
    const [request] = await openHere();
    await answer("allow", { scope: "day" });
    await invoke();
    expect(await last()).toBe("done");
    const { rules } = await readBudgets(on.state.table, on.bench.configuration, now());
    expect(rules[0]?.raised).toBeCloseTo((budgetOf(request)?.day ?? 0) / 1_000_000, 6);
    expect((await readDay(on.state.table, today())).raises).toEqual({
      [`day:${request?.id}`]: budgetOf(request)?.day,
    });
  });

  it("ends as refused if the owner denies it", async () => {
    await say("go");
    await invoke();
    await answer("deny");
    await invoke();
    expect(await runOf()).toBeUndefined();
    expect(await last()).toMatch(
      /^\[no answer: budget: today's limit of \$0\.0100 is reached.*gsv budget raise day/,
    );
    expect([await states(), await logged()]).toMatchObject([
      ["denied"],
      [{ tool: "budget day", answer: { decision: "deny" }, ended: "error", error: /^budget: / }],
    ]);
  });

  it("ends as refused if nobody answers in time, after one reminder", async () => {
    await say("go", { origin: dm });
    await invoke();
    await fire("approval-reminder");
    await invoke();
    expect(events("approval.requested")).toMatchObject([{}, { reminder: true }]);
    await fire("tool-timeout");
    await invoke();
    expect([await states(), await runOf()]).toEqual([["unanswered"], undefined]);
    expect(on.sent.at(-1)?.text).toContain("budget: today's limit");
    expect(await logged()).toMatchObject([{ tool: "budget day", decision: "ask", ended: "error" }]);
  });

  it("is set aside by a new message of the owner, which is answered next", async () => {
    await say("go", { origin: dm });
    await invoke();
    limited({ usd: 10 });
    await say("something else");
    await invoke();
    expect([await states(), await last(), await runOf()]).toEqual([["withdrawn"], "done", undefined]);
    expect(on.sent.map(({ text }) => text)).toEqual([
      expect.stringContaining("May I spend more"),
      expect.stringContaining("Set aside: budget day"),
      expect.stringContaining("budget: today's limit"),
    ]);
  });

  it("is withdrawn by a stop", async () => {
    await say("go");
    await invoke();
    await requestStop(on.state.table, on.sessionKey, "s", now());
    await invoke();
    expect([await states(), await runOf()]).toEqual([["withdrawn"], undefined]);
    expect(await last()).toBe("[stopped by the user before an answer]");
    expect(await logged()).toMatchObject([
      { tool: "budget day", ended: "error", error: "stopped by the user" },
    ]);
  });

  it("is not continued by an answer for something else", async () => {
    await say("go");
    await invoke();
    const [{ id = "" } = {}] = await openHere();
    await expect(answer("allow", { scope: "always" })).rejects.toThrow("once, run, day");
    await answer("allow");
    expect((await readRequest(on.state.table, id))?.state).toBe("allowed");
    on.bench.configuration = {
      ...on.bench.configuration,
      budgets: {
        ...on.bench.configuration.budgets,
        rules: [{ ...on.bench.configuration.budgets.rules[0]!, atLimit: "refuse" }],
      },
    };
    await invoke();
    expect(await last()).toMatch(/^\[no answer: budget: today's limit/);
  });
});

describe("who is asked", () => {
  it("nobody about a guest's run, which reads no figures", async () => {
    await say("go", { origin: dm, role: "guest", senderId: "9" });
    await invoke();
    expect([await states(), events("approval.requested")]).toEqual([[], []]);
    expect(await last()).toBe("[no answer: not available today]");
  });

  it("the owner about a run in a group, where nobody reads figures", async () => {
    on.sessionKey = `${on.sessionKey.replace(/:t\d+$/, "")}:telegram:group:g`;
    await say("go", { origin: group, role: "owner", senderId: "1" });
    await invoke();
    expect([await openHere(), events("approval.requested")]).toMatchObject([[{ kind: "budget" }], [{}]]);
    await answer("deny");
    await invoke();
    expect(await last()).toBe("[no answer: not available today]");
  });

  it("the owner about a job, for at most the job's time", async () => {
    const at = now();
    const task = { kind: "cron", jobId: "j", at, queuedAt: at, summary: "", timeoutMs: 600_000 } as const;
    await say("go", { task });
    await invoke();
    const [request] = await openHere();
    const { owner, run } = await on.bench.state(on.sessionKey);
    expect([request?.kind, owner]).toEqual(["budget", undefined]);
    expect(request?.until).toBe((run?.startedAt ?? 0) + 600_000);
  });

  it("nobody about a budget with `refuse`", async () => {
    limited({ atLimit: "refuse" });
    await say("go");
    await invoke();
    expect([await states(), await runOf()]).toEqual([[], undefined]);
  });
});

const ends: [string, "allow" | "deny", AnswerScope][] = [
  ["allowed once", "allow", "once"],
  ["allowed for the day", "allow", "day"],
  ["denied", "deny", "once"],
];

it.each(ends)(
  "a kill at any call between question, answer and model call loses and doubles nothing: %s",
  async (_, decision, scope) => {
    for (const part of ["ask", "answer", "act"] as const) {
      for (let [left, isKilled] = [0, true]; isKilled; left++) {
        on.sessionKey = `agent:main:${decision}-${scope}-${part}-${left}`;
        await nothingSpent();
        on.sent.length = 0;
        on.replies = [{ text: `answer ${left}` }];
        const life = { ...immortal(), left };
        const lifeOf = (one: string) => (one === part ? life : immortal());
        const invoked = async (one: string) => {
          await invoke(lifeOf(one));
          if (lifeOf(one).left <= 0) await invoke();
        };
        await say("go", { origin: dm });
        await invoked("ask");
        expect([part, left, await openHere()]).toMatchObject([part, left, [{ kind: "budget" }]]);
        await answer(decision, { scope, life: lifeOf("answer") }).catch(() => undefined);
        if (lifeOf("answer").left <= 0 && (await openHere()).length > 0) await answer(decision, { scope });
        await invoked("act");
        isKilled = life.left <= 0;
        // Nobody knows what an interrupted model call has cost, so what was allowed counts as used, and the run asks again.
        const asked = 1 + (await openHere()).length;
        if (asked === 2) {
          const [first] = await listRequests(on.state.table, now(), 20, on.sessionKey);
          const { all = 0 } = (await readDay(on.state.table, today())).sums;
          expect([part, left, all]).toEqual([part, left, budgetOf(first)?.once]);
          await answer(decision, { scope });
          await invoke();
        }
        expect([part, left, await runOf(), await openHere()]).toEqual([part, left, undefined, []]);
        const ended = decision === "allow" ? "allowed" : "denied";
        expect([part, left, await states()]).toEqual([part, left, Array(asked).fill(ended)]);
        const { raises } = await readDay(on.state.table, today());
        expect([left, Object.keys(raises).length]).toEqual([left, scope === "day" ? asked : 0]);
        const log = await listDecisions(on.state.table, now(), 20, on.sessionKey);
        const entry = { tool: "budget day", answer: { decision } };
        expect([part, left, log]).toMatchObject([part, left, Array(asked).fill(entry)]);
        const questions = new Set(on.sent.filter(({ text }) => text.startsWith("May I")).map(({ id }) => id));
        expect([part, left, questions.size]).toEqual([part, left, asked]);
        if (decision === "deny") expect(await last()).toMatch(/^\[no answer: budget/);
      }
    }
  },
);

it("an allowed run spends no more than was allowed", async () => {
  limited({ usd: 0.02 });
  on.replies = Array.from({ length: 40 }, () => ({ toolCalls: [read] }));
  await say("go");
  await invoke();
  const [{ requester } = {}] = await openHere();
  await answer("allow", { scope: "run" });
  await invoke();
  const [again] = await openHere();
  expect(again).toMatchObject({ kind: "budget" });
  const sum = (await readDay(on.state.table, today())).sums.all ?? 0;
  expect(sum).toBeGreaterThan(20_000);
  expect(sum).toBeLessThanOrEqual(
    (budgetOf({ requester })?.spent ?? 0) + (budgetOf({ requester })?.run ?? 0),
  );
});

it("tells the model nothing of a request, so its next call begins with the same messages", async () => {
  await say("go");
  await invoke();
  await answer("allow");
  on.replies = [{ toolCalls: [probe] }];
  const before = await on.bench.live(on.sessionKey);
  await invoke();
  expect((await on.bench.live(on.sessionKey)).slice(0, before.length)).toEqual(before);
});
