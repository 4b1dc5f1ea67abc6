import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Approval } from "../../../../shared/protocol/approvals.ts";
import { type FakeGateway, approval as one, startFakeGateway } from "../../fake-gateway.ts";
import { interruptHere, startHere } from "../../run-gsv.ts";

const two: Approval = { ...one, id: "d".repeat(16), tool: "gsv__Cron", args: { action: "add" } };
let gateway: FakeGateway;
let open: Approval[];

beforeEach(async () => {
  open = [one];
  gateway = await startFakeGateway({
    "approval.list": () => ({ approvals: open, count: open.length }),
    "approval.get": ({ params: { id } }) => ({ ...(id === one.id ? one : two), state: "unanswered" }),
  });
});
afterEach(async () => {
  await interruptHere();
  await gateway.close();
});

const watch = (...args: string[]) =>
  startHere(["approvals", "watch", ...args], { env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" } });

describe("gsv approvals watch", () => {
  it("shows what waits and what follows, each once, with the command that answers", async () => {
    const run = watch();
    await run.prints(/May I use pi__Bash on pi\?\n {2}git push ⟨U\+202E⟩x\nwhy: mode ask\n/);
    await run.prints(new RegExp(`answer: gsv approvals allow ${one.id}`));
    gateway.emit("approval.requested", one);
    gateway.emit("approval.requested", two);
    await run.prints(/May I use gsv__Cron on pi\?/);
    gateway.emit("approval.resolved", { ...two, state: "allowed" });
    await run.prints(new RegExp(`gsv__Cron is allowed \\(${two.id}\\)`));
    expect(run.stdout().match(/May I use/g)).toHaveLength(2);
    await interruptHere();
    expect(await run.ended).toBe(0);
  });

  it("prints one object a line with --json, also for what ended while the connection was lost", async () => {
    const run = watch("--json");
    await run.prints(/requested/);
    open = [two];
    gateway.dropAll();
    await run.prints(/gsv__Cron/);
    const lines = run.stdout().trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { event: "requested", id: one.id, args: one.args },
      { event: "resolved", id: one.id, state: "unanswered" },
      { event: "requested", id: two.id },
    ]);
  });
});
