import { expect, it } from "vitest";
import { answerText } from "../faults/plan.ts";
import type { Sent } from "./channel.ts";
import type { ClientRecord } from "./client.ts";
import { countDoubts, judgeDeliveries } from "./deliveries.ts";

const record = (runId: string): ClientRecord => ({
  runId,
  sessionKey: "agent:main:dm:7",
  acknowledged: true,
  finals: [],
  errors: [],
  chat: "7",
});
const records = new Map([
  ["s1-m0", record("r0")],
  ["s1-m1", record("r1")],
]);
const answer = { chat: "7", text: answerText("s1-m0") };
const failure = { chat: "7", text: "Sorry, that failed: LLM error" };
/** The first message has an answer, and the second failed. */
const judge = (sent: Sent[], uncertain: [string, number][] = []) =>
  judgeDeliveries({ sent, uncertain: new Map(uncertain) }, records, (tag) => tag === "s1-m0");

it("finds nothing if each message has one end in its chat", () => {
  expect(judge([answer, failure])).toEqual({ lost: [], duplicated: [], repeated: 0 });
});

it("finds an answer and a failure that were not delivered, and an answer in another chat", () => {
  expect(judge([failure]).lost).toHaveLength(1);
  expect(judge([answer]).lost).toHaveLength(1);
  expect(judge([{ ...answer, chat: "8" }, failure]).lost).toHaveLength(1);
});

it("finds messages sent more often than uncertain deliveries explain", () => {
  expect(judge([answer, answer, failure]).duplicated).toHaveLength(1);
  expect(judge([answer, failure, failure]).duplicated).toHaveLength(1);
  const doubts: [string, number][] = [
    ["r0", 1],
    ["r1:error", 1],
  ];
  expect(judge([answer, answer, failure, failure], doubts)).toEqual({
    lost: [],
    duplicated: [],
    repeated: 2,
  });
  expect(judge([answer, answer, answer, failure], doubts).duplicated).toHaveLength(1);
});

it("counts a part as uncertain if its sender died or got no answer, and not if it was refused", () => {
  const { uncertain, read } = countDoubts();
  const line = (event: string, reason?: string) =>
    read(JSON.stringify({ event, deliveryId: "r0", part: 0, ...(reason ? { reason } : {}) }));
  line("channel.retry", "429 not now");
  expect(uncertain).toEqual(new Map());
  line("channel.resend");
  line("channel.retry", "no connection (ECONNRESET)");
  line("channel.retry", "no answer within 10 s");
  line("channel.sent");
  expect(uncertain).toEqual(new Map([["r0", 3]]));
});
