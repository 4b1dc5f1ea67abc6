import { marshall } from "@aws-sdk/util-dynamodb";
import { expect, it } from "vitest";
import { metaKey } from "../../../shared/session/state.ts";
import type { SeenCall } from "../faults/proxy.ts";
import { openJournal } from "./journal.ts";

const sessionKey = "agent:main:s1";
const { pk, sk: stateSk } = metaKey(sessionKey);
const sk = (seq: number) => `M#id#${String(seq).padStart(10, "0")}`;

const call = (operation: string, input: object) =>
  ({
    service: "dynamodb",
    operation,
    input,
    worker: { functionName: "agent", number: 1 },
  }) as unknown as SeenCall;
const ok = (body: object = {}) => ({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)) });

function openSession() {
  const progress: string[] = [];
  const journal = openJournal((moved) => progress.push(moved));
  return {
    journal,
    progress,
    violations: () => journal.of(sessionKey).violations,
    state(epoch: number, head: number, inbox: (string | [id: string, sentAt: number])[] = []) {
      const item = {
        epoch,
        head,
        sessionId: "id",
        inbox: inbox.map((entry) => {
          const [id, sentAt] = [entry].flat();
          return { id, text: `text of ${id}`, ...(sentAt === undefined ? {} : { sentAt }) };
        }),
      };
      const Key = marshall({ pk, sk: stateSk });
      journal.observe(call("UpdateItem", { Key }), ok({ Attributes: marshall(item) }));
    },
    message(seq: number, body: string, epoch = 1) {
      journal.observe(call("PutItem", { Item: marshall({ pk, sk: sk(seq), epoch, body }) }), ok());
    },
  };
}

it("records inbox entries in order, each once", () => {
  const { journal, state } = openSession();
  state(0, 0, ["b"]);
  state(0, 0, ["b", "a"]);
  state(1, 1, ["a"]);
  state(1, 1, ["a", "c"]);
  expect(journal.of(sessionKey).accepted.map(({ id }) => id)).toEqual(["b", "a", "c"]);
});

it("follows a message only before others that were written later", () => {
  const { journal, state } = openSession();
  const order = () => journal.of(sessionKey).accepted.map(({ id }) => id);
  state(0, 0, [
    ["b", 3],
    ["c", 5],
  ]);
  state(0, 0, [
    ["b", 3],
    ["a", 4],
    ["c", 5],
  ]);
  expect(order()).toEqual(["b", "a", "c"]);
  state(0, 0, [
    ["c", 5],
    ["b", 3],
    ["a", 4],
    ["d", 6],
  ]);
  expect(order()).toEqual(["b", "a", "c", "d"]);
});

it("allows uncommitted messages to be overwritten, and reports progress", () => {
  const { state, message, violations, progress } = openSession();
  message(1, "from an agent that lost the lease");
  message(1, "from the next agent", 2);
  state(2, 1);
  expect(violations()).toEqual([]);
  expect(progress).toEqual([sessionKey]);
});

it("finds a changed or deleted committed message, but accepts an identical rewrite", () => {
  const { journal, state, message, violations } = openSession();
  message(1, "said");
  state(1, 1);
  message(1, "said", 1);
  expect(violations()).toEqual([]);
  message(1, "changed", 2);
  journal.observe(call("DeleteItem", { Key: marshall({ pk, sk: sk(1) }) }), ok());
  expect(violations()).toEqual([
    `agent 1 changed the committed message ${sk(1)}`,
    `agent 1 deleted the committed message ${sk(1)}`,
  ]);
});

it("finds a decreasing epoch and a decreasing head", () => {
  const { state, violations } = openSession();
  state(3, 4);
  state(2, 4);
  state(3, 3);
  expect(violations()).toHaveLength(2);
});

it("ignores a write that was refused", () => {
  const { journal, state, violations } = openSession();
  state(1, 1);
  const refused = { status: 400, headers: {}, body: Buffer.from("{}") };
  journal.observe(call("PutItem", { Item: marshall({ pk, sk: sk(1), epoch: 9, body: "x" }) }), refused);
  expect(violations()).toEqual([]);
});
