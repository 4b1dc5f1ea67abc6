import { describe, expect, it } from "vitest";
import { listGrants, revokeGrant } from "../../../shared/approvals/grants.ts";
import { listRequests } from "../../../shared/approvals/requests.ts";
import { needsAgent } from "../../../shared/session/state.ts";
import { requestStop } from "../../../shared/session/stop.ts";
import { entryOf, readDay } from "../../../shared/spend/day-view.ts";
import { entryName } from "../../../shared/spend/entry-name.ts";
import { readPaid } from "../../../shared/spend/paid.ts";
import {
  answer,
  approving,
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
  tool,
  useApprovalBench,
  write,
} from "./approval-bench.ts";

const day = 24 * 3_600_000;

useApprovalBench();

describe("a call that needs the owner's answer", () => {
  it("waits without a process, and shows everything to the clients", async () => {
    await asked(probe);
    const [request] = await openHere();
    expect(ran()).toBe(0);
    expect(request).toMatchObject({
      tool: "pi__probe",
      node: "pi",
      args: { of: "it" },
      origins: [],
    });
    expect(events("approval.requested")).toEqual([request]);
    const left = await on.bench.state(on.sessionKey);
    expect([left.owner, needsAgent(left, now()), left.run?.pendingCount]).toEqual([undefined, false, 1]);
    expect(on.schedules.map(({ event, at }) => [event.kind, at - request!.createdAt])).toEqual(
      expect.arrayContaining([
        ["tool-timeout", day],
        ["approval-reminder", 3_600_000],
      ]),
    );
  });

  it("reserves nothing of the budgets while it waits", async () => {
    await asked(probe);
    const { paid = "" } = await on.bench.state(on.sessionKey);
    const { day: date, spent } = readPaid(paid);
    const entry = entryOf(await readDay(on.state.table, date), entryName(on.sessionKey, true));
    expect(spent.all).toBeGreaterThan(0);
    expect(entry?.amounts).toEqual(spent);
  });

  it("runs once after the answer, whose writer wakes the agent", async () => {
    await asked(probe);
    expect(await answer("allow")).toEqual({ status: "answered" });
    expect(on.woken).toEqual([on.sessionKey]);
    await invoke();
    expect([ran(), await openHere()]).toEqual([1, []]);
    expect((await runOf())?.pendingCount).toBe(1);
  });

  it("runs in the gateway after the answer, if the gateway has the tool", async () => {
    await asked(write);
    expect((await on.state.bucket.list("agents/main/asked")).objects).toEqual([]);
    await answer("allow");
    await invoke();
    expect((await on.state.bucket.list("agents/main/asked")).objects).toHaveLength(1);
    expect(await runOf()).toBeUndefined();
    await on.state.bucket.delete("agents/main/asked.md");
  });

  it("does not run after a denial, and the model reads the note", async () => {
    await asked(probe);
    await answer("deny", { note: "not on Sundays" });
    await invoke();
    expect(ran()).toBe(0);
    expect(results(await on.bench.live(on.sessionKey))).toEqual([
      expect.stringContaining("denied by your human: not on Sundays"),
    ]);
  });

  it("counts as unanswered after its time, which is no denial", async () => {
    await asked(probe);
    await fire("tool-timeout");
    expect(on.woken).toEqual([on.sessionKey]);
    expect((await listRequests(on.state.table, now(), 1)).map((one) => one.state)).toEqual(["unanswered"]);
    await invoke();
    expect(ran()).toBe(0);
    expect(results(await on.bench.live(on.sessionKey))).toEqual([expect.stringContaining("nobody answered")]);
  });

  it("is shown once more after an hour, if nobody has answered", async () => {
    await asked(probe);
    await fire("approval-reminder");
    expect(on.woken).toEqual([on.sessionKey]);
    await invoke();
    expect(events("approval.requested").map(({ reminder }) => reminder)).toEqual([undefined, true]);
    expect((await runOf())?.pendingCount).toBe(1);
  });

  it("does not hold up the other calls of its reply", async () => {
    await asked(probe, read);
    expect(Object.values((await runOf())?.pending ?? {})).toHaveLength(1);
    askingForProbe();
    otherSession();
    await asked(probe, { name: "pi__other", arguments: { of: "x" } });
    expect(ran()).toBe(1);
    await fire("tool-timeout");
    expect([(await runOf())?.pendingCount, (await openHere()).length]).toEqual([1, 1]);
    await answer("allow");
    await invoke();
    expect(ran()).toBe(2);
  });

  it("shares its request with an equal call", async () => {
    await asked(probe, probe);
    expect(await openHere()).toHaveLength(1);
    await answer("allow");
    await invoke();
    expect(ran()).toBe(2);
  });

  it("is set aside by the owner's next message, which is answered", async () => {
    await asked(probe);
    await say("never mind");
    expect(needsAgent(await on.bench.state(on.sessionKey), now())).toBe(true);
    await invoke();
    expect(events("approval.resolved")).toMatchObject([{ state: "withdrawn" }]);
    const live = await on.bench.live(on.sessionKey);
    expect(results(live)).toEqual([expect.stringContaining("wrote something else")]);
    expect(live.filter(({ role }) => role === "user")).toHaveLength(2);
    expect([ran(), await runOf()]).toEqual([0, undefined]);
  });

  it("is not set aside by a message of the gateway or of a guest", async () => {
    await asked(probe);
    await say("job", { task: { kind: "heartbeat", agentId: "main" } });
    await say("guest", { role: "guest" });
    expect(needsAgent(await on.bench.state(on.sessionKey), now())).toBe(false);
    await invoke();
    expect(await openHere()).toHaveLength(1);
  });

  it("never runs after a stop", async () => {
    await asked(probe);
    const [{ id = "" } = {}] = await openHere();
    await requestStop(on.state.table, on.sessionKey, "s", now());
    expect(await answer("allow", { id })).toEqual({ status: "withdrawn" });
    await invoke();
    expect([ran(), await runOf()]).toEqual([0, undefined]);
    expect(await answer("allow", { id })).toMatchObject({ status: "withdrawn" });
  });

  it("is refused without a question after three denials of a run", async () => {
    on.replies = ["a", "b", "c", "d"].map((of) => ({
      toolCalls: [{ name: "pi__probe", arguments: { of } }],
    }));
    await say("go");
    for (let i = 0; i < 3; i++) {
      await invoke();
      await answer("deny");
    }
    await invoke();
    expect(await openHere()).toEqual([]);
    expect(results(await on.bench.live(on.sessionKey)).at(-1)).toContain(
      "not asked: your human has denied several",
    );
  });
});

describe("an answer", () => {
  it("counts only if it is the first", async () => {
    await asked(probe);
    const [{ id = "" } = {}] = await openHere();
    const both = await Promise.all([
      answer("deny", { id, by: "client a" }),
      answer("allow", { id, by: "client b" }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(["already", "answered"]);
    const wins = both[0]?.status === "answered" ? "deny" : "allow";
    await invoke();
    expect(ran()).toBe(wins === "allow" ? 1 : 0);
  });

  it("is void after a rule has forbidden the call", async () => {
    await asked(probe);
    await answer("allow");
    approving({ mode: "ask", rules: [{ id: "no", tool: "pi__*", decision: "deny" }] });
    await invoke();
    expect([ran(), events("approval.resolved").map((one) => one.state)]).toEqual([0, ["void"]]);
  });

  it.each([
    ["the node's tool", { tools: [{ ...tool("probe"), inputSchema: { type: "object", required: ["x"] } }] }],
    ["the node's token, behind the same name,", { tokenId: "another" }],
  ])("is void after %s has changed (GHSA-hjvp-qhm6-wrh2: reuse)", async (_, change) => {
    await asked(probe);
    await answer("allow");
    const peer = (await on.state.table.query({ pk: "PEER#node" })).find(({ id }) => id === "pi")!;
    await on.state.table.put({ ...peer, ...change } as never);
    await invoke();
    await on.state.table.put(peer as never);
    expect(ran()).toBe(0);
    expect(results(await on.bench.live(on.sessionKey))[0]).toContain("has changed since");
  });

  it("of another session counts nothing (OpenClaw 59349)", async () => {
    await asked(probe);
    const [{ id = "" } = {}] = await openHere();
    await say("/x");
    await invoke();
    expect(await answer("allow", { id })).toMatchObject({ status: "withdrawn" });
  });

  it.each(["session", "always"] as const)(
    "for %s also allows equal calls until it is revoked",
    async (scope) => {
      askingForProbe();
      await asked(probe);
      await answer("allow", { scope });
      await invoke();
      const used = () => listGrants(on.state.table).then((all) => all.find((one) => one.scope === scope));
      expect(await used()).toMatchObject({ tool: "pi__probe", uses: 0, createdBy: "client laptop" });
      if (scope === "always") otherSession();
      else await fire("tool-timeout").then(() => invoke());
      on.bench.posted.length = 0;
      await asked(probe);
      expect([ran(), (await used())?.uses]).toEqual([1, 1]);
      await revokeGrant(on.state.table, (await used())!.id);
      await fire("tool-timeout").then(() => invoke());
      await asked(probe);
      expect([ran(), (await openHere()).length]).toEqual([1, 1]);
    },
  );
});
