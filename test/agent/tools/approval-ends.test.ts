import { describe, expect, it } from "vitest";
import { listRequests, putRequest } from "../../../shared/approvals/requests.ts";
import { setRequestsAside } from "../../../shared/approvals/withdraw.ts";
import { textOf } from "../../../shared/protocol/messages.ts";
import { expireCalls } from "../../../shared/session/calls.ts";
import type { Origin } from "../../../shared/session/inbox-entry.ts";
import { metaKey } from "../../../shared/session/state.ts";
import { remove, set } from "../../../shared/world/expression.ts";
import type { Table } from "../../../shared/world/world.ts";
import { Killed } from "../bench.ts";
import {
  answer,
  asked,
  askingForProbe,
  events,
  fire,
  invoke,
  now,
  on,
  openHere,
  otherSession,
  probe,
  ran,
  read,
  results,
  runOf,
  say,
  useApprovalBench,
  write,
} from "./approval-bench.ts";

useApprovalBench();

const dm: Origin = { kind: "channel", channel: "telegram", accountId: "a", peer: { kind: "dm", id: "1" } };

describe("a later message of the owner", () => {
  it("keeps the run that goes on before it from asking", async () => {
    on.replies = [
      { toolCalls: [probe] },
      { toolCalls: [probe] },
      { toolCalls: [probe] },
      { text: "finished" },
    ];
    await say("go");
    await say("something else");
    await invoke();
    expect(events("approval.requested")).toEqual([]);
    const live = await on.bench.live(on.sessionKey);
    expect(results(live)).toEqual(
      Array(3).fill(expect.stringContaining("not asked: your human has written")),
    );
    expect([on.replies, await runOf(), await openHere()]).toEqual([[], undefined, []]);
  });

  it("sets a request aside once, and the direct message says so", async () => {
    on.replies = [{ toolCalls: [probe] }];
    await say("go", { origin: dm });
    await invoke();
    on.replies = [{ toolCalls: [probe] }, { text: "finished" }];
    await say("something else");
    await invoke();
    expect(events("approval.resolved")).toMatchObject([{ state: "withdrawn" }]);
    expect(events("approval.requested")).toHaveLength(1);
    expect(on.sent.map(({ text }) => text)).toEqual([
      expect.stringContaining("May I use pi__probe?"),
      expect.stringContaining("Set aside: pi__probe"),
      "finished",
    ]);
  });
});

const listed = async () =>
  (await listRequests(on.state.table, now(), 5, on.sessionKey)).map(({ state }) => state);

describe("a run that an earlier version began", () => {
  it("may have read anybody's words", async () => {
    await asked(probe);
    await on.state.table.update(metaKey(on.sessionKey), [remove(["run", "origins"])]);
    await fire("approval-reminder");
    await invoke();
    expect(events("approval.requested")).toMatchObject([{ origins: [] }, { origins: ["unknown"] }]);
  });
});

describe("a request that nobody closed", () => {
  it("is closed where its run fails, and no answer counts", async () => {
    askingForProbe();
    await asked(probe, { name: "pi__other", arguments: {} });
    const [{ id = "" } = {}] = await openHere();
    await on.state.table.update(metaKey(on.sessionKey), [set(["run", "attempt"], 8)]);
    await invoke();
    expect([await runOf(), events("approval.resolved")]).toMatchObject([
      undefined,
      [{ id, state: "withdrawn" }],
    ]);
    expect([await listed(), await answer("allow", { id })]).toEqual([["withdrawn"], { status: "withdrawn" }]);
  });

  it("is gone as soon as its run only delivers an error", async () => {
    await asked(probe);
    const [{ id = "" } = {}] = await openHere();
    await on.state.table.update(metaKey(on.sessionKey), [set(["run", "phase"], "reply")]);
    expect(await answer("allow", { id })).toEqual({ status: "gone" });
  });

  it("is listed as set aside, after a crash before that was recorded", async () => {
    await asked(probe);
    await say("something else");
    await setRequestsAside(on.state.table, on.sessionKey);
    expect([await openHere(), await listed()]).toEqual([[], ["withdrawn"]]);
  });

  it("is listed with its answer, after crashes of the writer of the answer and of the agent", async () => {
    await asked(probe);
    await expect(answer("allow", { life: { left: 3, calls: [] } })).rejects.toBeInstanceOf(Killed);
    const isCommitted = async () => (await runOf())?.decided === 0;
    for (let left = 5; !(await isCommitted()); left++) await invoke({ left, calls: [] });
    expect([await openHere(), await listed()]).toEqual([[], ["allowed"]]);
  });

  it("is found among later ones of other sessions", async () => {
    await asked(probe);
    const [mine] = await openHere();
    const others = Array.from({ length: 120 }, (_, i) => ({ ...mine!, id: `other${i}`, sessionKey: "x" }));
    await Promise.all(others.map((one) => putRequest(on.state.table, { ...one, createdAt: now() + 1 })));
    expect(await listRequests(on.state.table, now(), 1, on.sessionKey)).toEqual([mine]);
  });
});

describe("a job that waits", () => {
  it("ends at its time limit, and says that nobody answered", async () => {
    const task = { kind: "cron", jobId: "j", at: 1, queuedAt: 1, summary: "", timeoutMs: 3_600_000 } as const;
    on.replies = [{ toolCalls: [probe] }];
    await say("go", { task });
    await invoke();
    const [request] = await openHere();
    expect(request!.until - request!.createdAt).toBeLessThanOrEqual(3_600_000);
    await fire("tool-timeout");
    await invoke();
    expect(await runOf()).toBeUndefined();
    const live = await on.bench.live(on.sessionKey);
    expect([...results(live), textOf(live.at(-1)!)]).toEqual([
      expect.stringContaining("nobody answered"),
      expect.stringContaining("time limit is over"),
    ]);
    expect(await listed()).toEqual(["unanswered"]);
  });

  it("keeps a call that was allowed while its time limit was being recorded", async () => {
    const task = { kind: "cron", jobId: "j", at: 1, queuedAt: 1, summary: "", timeoutMs: 70_000 } as const;
    on.replies = [{ toolCalls: [write, probe] }];
    await say("go", { task });
    await invoke();
    await answer("allow", { id: (await openHere()).find(({ tool }) => tool === write.name)!.id });
    await invoke();
    let isFirst = true;
    const update: Table["update"] = async (...write) => {
      if (isFirst) {
        isFirst = false;
        await answer("allow");
        await invoke();
      }
      return on.state.table.update(...write);
    };
    const run = (await runOf())!;
    await expireCalls({ ...on.state.table, update }, on.sessionKey, run, now());
    expect([ran(), await listed()]).toEqual([1, ["allowed", "allowed"]]);
    expect(await runOf()).toMatchObject({ timedOut: [expect.anything()] });
  });
});

describe("answers that the agent finds together", () => {
  it("deny equal calls", async () => {
    await asked(probe, probe);
    await answer("deny");
    await invoke();
    expect(results(await on.bench.live(on.sessionKey))).toEqual(
      Array(2).fill(expect.stringContaining("denied by your human")),
    );
    expect(await runOf()).toBeUndefined();
  });

  it("allow several calls of the gateway", async () => {
    const file = (path: string) => ({ name: "gsv__WriteFile", arguments: { path, content: "x" } });
    await asked(file("one.md"), file("two.md"));
    const ids = (await openHere()).map(({ id }) => id);
    for (const id of ids) await answer("allow", { id });
    await invoke();
    expect(await runOf()).toBeUndefined();
    for (const name of ["one.md", "two.md"])
      expect(await on.state.bucket.get(`agents/main/${name}`)).toBeDefined();
  });
});

describe("a crash between the commit and the question", () => {
  it("is followed by the question, also beside a call that runs", async () => {
    await say("a session");
    for (let left = 1; (await runOf())?.phase !== "tools"; left++) {
      otherSession();
      on.replies = [{ toolCalls: [probe, read] }];
      await say("go");
      await invoke({ left, calls: [] });
    }
    expect([events("approval.requested"), await openHere()]).toEqual([[], []]);
    await invoke();
    expect(await openHere()).toHaveLength(1);
    expect(events("approval.requested")).toEqual(await openHere());
  });
});
