import { describe, expect, it } from "vitest";
import type { Message } from "../../../shared/protocol/messages.ts";
import { newSession, type SessionState } from "../../../shared/session/state.ts";
import type { Item } from "../../../shared/world/world.ts";
import { answerText, drawPlan, type MessagePlan, messageText, resultText } from "../faults/plan.ts";
import type { Sent } from "../load/channel.ts";
import type { ClientRecord } from "../load/client.ts";
import { type Findings, judge } from "./verdict.ts";

const sessionKey = "agent:main:s1";
const call = "c_s1-m0_0.0_1";

/** One session after a run without errors: two messages, the first with a tool call. */
function session() {
  const state = newSession(sessionKey, "id", 0) as SessionState;
  const messages: Message[] = [
    { role: "user", content: messageText("s1-m0"), timestamp: 1 },
    {
      role: "assistant",
      content: [{ type: "toolCall", id: call, name: "alpha__Work", arguments: {} }],
      timestamp: 2,
    },
    {
      role: "toolResult",
      toolCallId: call,
      toolName: "alpha__Work",
      content: [{ type: "text", text: resultText(call) }],
      isError: false,
      timestamp: 3,
    },
    { role: "assistant", content: [{ type: "text", text: answerText("s1-m0") }], timestamp: 4 },
    { role: "user", content: messageText("s1-m1"), timestamp: 5 },
    { role: "assistant", content: [{ type: "text", text: answerText("s1-m1") }], timestamp: 6 },
  ];
  const record = (runId: string): ClientRecord => ({
    runId,
    sessionKey,
    acknowledged: true,
    finals: ["it"],
    errors: [],
    outcome: "answered",
  });
  const plans = new Map<string, Partial<MessagePlan>>();
  return {
    state,
    messages,
    epochs: [1, 1, 2, 2, 3, 3],
    accepted: [
      { id: "r0", text: messageText("s1-m0") },
      { id: "r1", text: messageText("s1-m1") },
    ],
    records: new Map([
      ["s1-m0", record("r0")],
      ["s1-m1", record("r1")],
    ]),
    carriedOut: [call],
    deliveries: { sent: [] as Sent[], uncertain: new Map<string, number>() },
    /** The committed messages, if they differ from the stored ones. */
    committed: undefined as Message[] | undefined,
    plans,
    planOf: (tag: string): MessagePlan => ({ ...drawPlan(1, tag, 0), ...plans.get(tag) }),
  };
}

type Session = ReturnType<typeof session>;

/** The kinds of findings in a session after `change`. */
async function foundAfter(change: (session: Session) => void): Promise<(keyof Findings)[]> {
  const spoilt = session();
  change(spoilt);
  const { state, messages, epochs, accepted, records, carriedOut, deliveries, planOf } = spoilt;
  const bodies = (of: Message[]) => of.map((message) => JSON.stringify(message));
  const sk = (i: number) => `M#id#${String(i + 1).padStart(10, "0")}`;
  const items = bodies(messages).map((body, i) => ({ sk: sk(i), epoch: epochs[i] ?? 3, body }));
  const committed = bodies(spoilt.committed ?? messages).map(
    (body, i) => [sk(i), JSON.stringify({ body })] as const,
  );
  const verdict = await judge({
    table: {
      get: async () => ({ ...state, head: messages.length }) as unknown as Item,
      query: async () => items as unknown as Item[],
    },
    journal: {
      observe: () => {},
      of: () => ({ accepted, violations: [] }),
      sessions: () => [sessionKey],
      committed: () => new Map(committed),
    },
    records,
    planOf,
    carriedOut,
    deliveries,
  });

  return (Object.keys(verdict.findings) as (keyof Findings)[]).filter(
    (kind) => verdict.findings[kind].length > 0,
  );
}

describe("the verdict", () => {
  it("finds nothing if nothing went wrong", async () => {
    expect(await foundAfter(() => {})).toEqual([]);
  });

  const spoilt: [string, keyof Findings, (session: Session) => void][] = [
    [
      "a message that is not in the transcript",
      "lost",
      ({ messages, records }) => {
        messages.splice(4, 2);
        Object.assign(records.get("s1-m1")!, { finals: [], outcome: "failed: it was lost" });
      },
    ],
    [
      "a missing answer",
      "lost",
      ({ messages, records }) => {
        messages.splice(5, 1);
        Object.assign(records.get("s1-m1")!, { finals: [], outcome: "failed: it was lost" });
      },
    ],
    [
      "an answer that its client reports as failed",
      "misreported",
      ({ records }) =>
        Object.assign(records.get("s1-m1")!, {
          outcome: "failed: the run ended, but its answer did not arrive",
        }),
    ],
    [
      "a failure that its client reports as answered",
      "misreported",
      ({ messages, records, plans }) => {
        messages.splice(5, 1);
        plans.set("s1-m1", { fault: { kind: "cut", at: "last", passing: false } });
        Object.assign(records.get("s1-m1")!, { finals: [], errors: ["LLM error: cut"] });
      },
    ],
    [
      "a failure whose error is not the provider's",
      "misreported",
      ({ messages, records, plans }) => {
        messages.splice(5, 1);
        plans.set("s1-m1", { fault: { kind: "cut", at: "last", passing: false } });
        const errors = ["LLM error: the turn was interrupted 4 times"];
        Object.assign(records.get("s1-m1")!, { finals: [], errors, outcome: "failed" });
      },
    ],
    [
      "different errors of one message",
      "duplicated",
      ({ messages, records, plans }) => {
        messages.splice(5, 1);
        plans.set("s1-m1", { fault: { kind: "cut", at: "last", passing: false } });
        const errors = ["LLM error: cut", "LLM error: terminated"];
        Object.assign(records.get("s1-m1")!, { finals: [], errors, outcome: "failed" });
      },
    ],
    [
      "an answer that did not reach its chat",
      "lost",
      ({ records }) => Object.assign(records.get("s1-m1")!, { chat: "7" }),
    ],
    [
      "an answer although the provider always fails",
      "lost",
      ({ plans }) => plans.set("s1-m1", { fault: { kind: "cut", at: "last", passing: false } }),
    ],
    ["a duplicate answer", "duplicated", ({ messages }) => messages.push(messages[5]!)],
    [
      "an answer to a message that was reported as failed",
      "duplicated",
      ({ records, plans }) => {
        plans.set("s1-m1", { fault: { kind: "cut", at: "last", passing: true } });
        records.get("s1-m1")?.errors.push("LLM error: cut");
      },
    ],
    ["a call that was carried out twice", "duplicated", ({ carriedOut }) => carriedOut.push(call)],
    ["messages answered in another order than accepted", "reordered", ({ accepted }) => accepted.reverse()],
    [
      "a run that did not end",
      "stuck",
      ({ state }) => {
        state.run = {
          runId: "r1",
          phase: "model",
          step: 0,
          attempt: 1,
          startedAt: 0,
          origin: { kind: "client" },
          pending: {},
          pendingCount: 0,
        };
      },
    ],
    [
      "a lease that is held",
      "stuck",
      ({ state }) => Object.assign(state, { leaseUntil: Date.now() + 10_000 }),
    ],
    [
      "an inbox whose byte count includes removed entries",
      "stuck",
      ({ state }) => Object.assign(state, { inboxBytes: 2000 }),
    ],
    [
      "a message with a lower epoch than the previous one",
      "fencingViolations",
      ({ epochs }) => epochs.splice(5, 1, 2),
    ],
    [
      "a message that has changed since it was committed",
      "fencingViolations",
      (one) => {
        one.committed = one.messages.with(5, { ...one.messages[5]!, timestamp: 7 });
      },
    ],
    [
      "a call that was carried out but never committed",
      "fencingViolations",
      ({ carriedOut }) => carriedOut.push("c_other"),
    ],
    [
      "a tool call without its result",
      "invalidTranscripts",
      ({ messages, carriedOut }) => {
        messages.splice(2, 1);
        carriedOut.length = 0;
      },
    ],
  ];

  it.each(spoilt)("finds %s", async (_what, kind, change) => {
    expect(await foundAfter((one) => void change(one))).toEqual([kind]);
  });

  it("finds a message that was acknowledged but not accepted", async () => {
    const found = await foundAfter(({ records }) =>
      records.set("s1-m2", { runId: "r2", sessionKey, acknowledged: true, finals: [], errors: [] }),
    );
    expect(found).toEqual(["lost"]);
  });

  it("finds a message that is twice in the transcript", async () => {
    expect(await foundAfter(({ messages }) => messages.push(messages[4]!, messages[5]!))).toEqual([
      "duplicated",
    ]);
  });
});
