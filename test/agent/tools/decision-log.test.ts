import { expect, it } from "vitest";
import { listDecisions } from "../../../shared/approvals/decision-log.ts";
import { revokeGrant } from "../../../shared/approvals/grants.ts";
import { metaKey } from "../../../shared/session/state.ts";
import { requestStop } from "../../../shared/session/stop.ts";
import { remove, set } from "../../../shared/world/expression.ts";
import {
  answer,
  approving,
  asked,
  askingForProbe,
  fire,
  invoke,
  now,
  on,
  openHere,
  otherSession,
  probe,
  read,
  runOf,
  say,
  useApprovalBench,
} from "./approval-bench.ts";

useApprovalBench();

const day = 24 * 3_600_000;
const logged = (at = now()) => listDecisions(on.state.table, at, 10, on.sessionKey);
const other = { name: "pi__other", arguments: {} };

it("says what was allowed and denied by whom, what ran and how it ended", async () => {
  approving({ mode: "ask", rules: [{ id: "no", tool: "pi__other", decision: "deny" }] });
  await asked(read, other, probe);
  const [{ id = "" } = {}] = await openHere();
  expect(await logged()).toEqual([]);
  await answer("deny", { note: "not now" });
  await invoke();
  const at = { sessionKey: on.sessionKey, step: 0, origins: [] };
  expect(await logged()).toMatchObject(
    [
      { ...at, tool: read.name, args: '{"path":""}', decision: "allow", why: "mode ask", ended: "ok" },
      {
        ...at,
        tool: "pi__other",
        decision: "deny",
        why: "rule no",
        ended: "error",
        error: /denied by policy/,
      },
      {
        ...{ ...at, tool: "pi__probe", args: '{"of":"it"}', decision: "ask", requestId: id, ended: "error" },
        answer: { decision: "deny", by: "client laptop", note: "not now" },
      },
    ].map((one) => ({ ...one, ...("error" in one ? { error: expect.stringMatching(one.error!) } : {}) })),
  );
  expect((await logged())[0]!.endedAt).toBeGreaterThanOrEqual((await logged())[0]!.at);
});

it("names the earlier answer that allowed a call", async () => {
  askingForProbe();
  await asked(probe);
  const [{ id = "" } = {}] = await openHere();
  await answer("allow", { scope: "always" });
  await invoke();
  otherSession();
  await asked(probe);
  await fire("tool-timeout");
  await invoke();
  await revokeGrant(on.state.table, id);
  expect(await logged()).toMatchObject(
    [
      {
        decision: "allow",
        why: expect.stringContaining(id),
        ended: "error",
        error: /did not answer in time/,
      },
    ].map((one) => ({ ...one, error: expect.stringMatching(one.error) })),
  );
});

it.each([
  ["nobody answered the request", () => fire("tool-timeout")],
  ["stopped by the user", () => requestStop(on.state.table, on.sessionKey, "s", now())],
  ["your human wrote something else", () => say("something else")],
])("says why a call did not run: %s", async (error, end) => {
  await asked(probe);
  await end();
  await invoke();
  expect(await logged()).toMatchObject([
    { decision: "ask", ended: "error", error: expect.stringContaining(error) },
  ]);
  expect((await logged())[0]!.answer).toBeUndefined();
});

it("says that nobody knows how a call ended whose run failed", async () => {
  askingForProbe();
  await asked(probe, other);
  await on.state.table.update(metaKey(on.sessionKey), [set(["run", "attempt"], 8)]);
  await invoke();
  expect(await runOf()).toBeUndefined();
  expect(await logged()).toMatchObject([
    { tool: "pi__probe", ended: "error" },
    { tool: "pi__other", ended: "error", error: expect.stringContaining("interrupted; its machine") },
  ]);
});

it("has nothing about a step that an earlier version began", async () => {
  await asked(probe);
  await on.state.table.update(metaKey(on.sessionKey), [remove(["run", "decisions"])]);
  await answer("deny");
  await invoke();
  expect([await runOf(), await logged()]).toEqual([undefined, []]);
});

it("cuts long arguments, keeps many calls, and forgets after 90 days", async () => {
  approving({ rules: [{ id: "no", tool: "*", decision: "deny" }] });
  await asked(
    ...Array.from({ length: 90 }, () => ({ name: "pi__probe", arguments: { of: "é".repeat(5000) } })),
  );
  const found = await listDecisions(on.state.table, now(), 500, on.sessionKey);
  expect([found.length, new Set(found.map(({ callId }) => callId)).size]).toEqual([90, 90]);
  expect(found[0]!.args).toHaveLength(1001);
  expect(await logged()).toEqual(found.slice(-10));
  expect([(await logged(now() + 89 * day)).length, await logged(now() + 91 * day)]).toEqual([10, []]);
});
