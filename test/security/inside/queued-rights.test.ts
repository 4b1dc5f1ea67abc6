import { afterAll, beforeAll, expect, it } from "vitest";
import type { Approval } from "../../../shared/protocol/approvals.ts";
import { bash, type Household, notFound, openHousehold, ran } from "../household.ts";

/** Queued rights: a message that waits behind another's runs with that other's rights (CWE-863). */

let house: Household;
beforeAll(async () => {
  house = await openHousehold();
});
afterAll(() => house.close());

const room = "workshop";

/** Lets the model answer the message that makes it wait, once it has got it. */
async function letWaitingAnswer(): Promise<void> {
  await expect.poll(() => house.lastRequest()?.turns.at(-1)?.text.split("\n").at(-1)).toMatch(/^wait/);
  house.release();
}

it("queued messages each have the rights of their own sender", async () => {
  const first = await house.bring({ from: "olga", text: "wait for me", room });
  const behind = await house.bring({ from: "gus", text: bash, room });
  const last = await house.bring({ from: "olga", text: bash, room });
  await letWaitingAnswer();
  expect(await house.told(first.id)).toContain("wait for me");
  expect(await house.told(behind.id)).toMatch(notFound);
  expect(await house.told(last.id)).toContain(ran);
  expect(house.calls).toHaveLength(1);
});

it("what the owner allows for the session or for ever gives a guest behind them no right", async () => {
  await house.configuration.set("toolApproval.mode", "ask");
  const before = house.calls.length;
  const { approver } = house.peers;
  for (const scope of ["session", "always"]) {
    await house.bring({ from: "olga", text: `${bash} {"of":"${scope}"}`, room });
    const open = async () =>
      (await approver.call<{ approvals: Approval[] }>("approval.list", {})).approvals[0];
    await expect.poll(open).toBeDefined();
    const behind = await house.bring({ from: "gus", text: `${bash} {"of":"${scope}"}`, room });
    const { id, hash } = (await open()) as Approval;
    await approver.call("approval.answer", { id, hash, decision: "allow", scope });
    expect(await house.told(behind.id)).toMatch(notFound);
  }
  expect(house.calls).toHaveLength(before + 2);
});
