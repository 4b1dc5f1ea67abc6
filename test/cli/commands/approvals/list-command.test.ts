import { afterAll, beforeAll, expect, it } from "vitest";
import type { Approval, LoggedCall } from "../../../../shared/protocol/approvals.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { gsv } from "../../run-gsv.ts";

const where = { sessionKey: "agent:main:main", runId: "r", step: 0, origins: [] };
const waiting: Approval = {
  ...{ ...where, callId: "c3", id: "c5qswrjuz3w474cd", kind: "tool", state: "open", hash: "0".repeat(64) },
  ...{
    tool: "vm__Bash",
    node: "vm",
    args: { command: "rm -rf build" },
    why: "mode ask",
    createdAt: 3,
    until: 9,
  },
};
const plain: LoggedCall = {
  ...{ ...where, callId: "c1", at: 1, endedAt: 2, tool: "vm__Bash", args: '{"command":"npm \\u202etest"}' },
  ...{ decision: "allow", why: "mode guard", ended: "ok" },
};
const asked: LoggedCall = {
  ...{
    ...plain,
    callId: "c2",
    at: 2,
    decision: "ask",
    requestId: "fxmqrnjrulbaf6jp",
    ended: "error",
    error: "x",
  },
  answer: { decision: "allow", scope: "once", by: "client local", at: 2 },
};
const unanswered: LoggedCall = { ...asked, callId: "c4", at: 4, args: '{"content":"cut…', answer: undefined };
const everything = {
  approvals: [{ ...waiting, id: "fxmqrnjrulbaf6jp", state: "allowed" } as Approval, waiting],
  ...{ count: 2, decisions: [plain, asked, unanswered] },
};

let gateway: FakeGateway;
beforeAll(async () => {
  gateway = await startFakeGateway({
    "approval.list": ({ params: { all } }) => (all ? everything : { approvals: [waiting], count: 1 }),
  });
});
afterAll(() => gateway.close());

const list = async (...args: string[]) => {
  const env = { GSV_URL: gateway.url, GSV_TOKEN: "good-token" };
  return (await gsv(["approvals", "list", ...args], { env })).stdout.trimEnd();
};

it("shows who decided about each call, and how it ended", async () => {
  const rows = (await list("--all")).split("\n").map((line) => line.split(/ {2,}/).slice(1));
  expect(rows).toEqual([
    ["DECISION", "BY", "ENDED", "TOOL", "CALL", "REQUEST"],
    ["allow", "mode guard", "ok", "vm__Bash", "npm ⟨U+202E⟩test", "-"],
    ["allow", "client local", "error", "vm__Bash", "npm ⟨U+202E⟩test", "fxmqrnjrulbaf6jp"],
    ["open", "-", "-", "vm__Bash", "rm -rf build", "c5qswrjuz3w474cd"],
    ["none", "nobody", "error", "vm__Bash", '{"content":"cut…', "fxmqrnjrulbaf6jp"],
  ]);
  expect(JSON.parse(await list("--all", "--json"))).toEqual(JSON.parse(JSON.stringify(everything)));
});

it("shows what waits", async () => {
  expect((await list()).split("\n")).toEqual([
    expect.stringMatching(/^ID +STATE/),
    expect.stringMatching(/^c5qswrjuz3w474cd +open/),
  ]);
});
