import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CallAddress, decodeCallAddress, encodeCallAddress } from "../../shared/session/call-address.ts";
import { putOutcome, readOutcomes, recordResult } from "../../shared/session/calls.ts";
import type { Run } from "../../shared/session/run.ts";
import { metaKey, newSession } from "../../shared/session/state.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

const sessionKey = "agent:main:calls";
const run: Run = {
  runId: "run",
  phase: "tools",
  step: 5,
  attempt: 1,
  startedAt: 1,
  origin: { kind: "client" },
  pending: { call_0: { nodeId: "pi", tool: "pi__probe" } },
  pendingCount: 1,
  results: {},
  resultBytes: 0,
};
const address = (step: number): CallAddress => ({ sessionKey, runId: "run", step, callId: "call_0" });

describe("a call id that a server reuses in every step", () => {
  it.each([
    ["small", "done"],
    ["large", "x".repeat(10_000)],
  ])("does not accept a late answer of an earlier step: %s", async (_, result) => {
    const session = { ...newSession(sessionKey, "id", 1), run };
    await state.table.put({ ...(session as never as object), ...metaKey(sessionKey) });
    const late = await recordResult(state, address(1), "pi", { result: `old ${result}` }, 1);
    expect(late.status).toBe("dropped");
    const own = await recordResult(state, address(5), "pi", { result }, 1);
    expect(own).toMatchObject({ status: "recorded", state: { run: { pendingCount: 0 } } });
    const recorded = own.status === "recorded" ? own.state.run! : run;
    const outcomes = await readOutcomes(state, sessionKey, recorded, [{ id: "call_0" }]);
    expect(outcomes.get("call_0")).toEqual({ result });
  });

  it("is not answered by the stored result of an earlier step's call", async () => {
    await putOutcome(state, address(2), { result: "old" }, 1);
    expect((await readOutcomes(state, sessionKey, { runId: "run", step: 3 }, [{ id: "call_0" }])).size).toBe(
      0,
    );
    expect(await putOutcome(state, address(3), { result: "new" }, 1)).toBe(true);
  });

  it("has another call id on the node in every step", () => {
    expect(encodeCallAddress(address(1))).not.toBe(encodeCallAddress(address(2)));
    expect(decodeCallAddress(encodeCallAddress(address(7)))).toEqual(address(7));
  });
});

describe("the address of a call", () => {
  it.each([
    "",
    "s.",
    "s.!!",
    `s.${Buffer.from("[1,2,3,4]").toString("base64url")}`,
    `s.${Buffer.from('["a","b","c"]').toString("base64url")}`,
    `s.${Buffer.from('["a","b",1,"c",2]').toString("base64url")}`,
  ])("is not decoded from %j", (name) => {
    expect(decodeCallAddress(name)).toBeUndefined();
  });
});
