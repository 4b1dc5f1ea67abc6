import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Ledger, openLedger } from "../../shared/memory/ledger.ts";
import { memoryId } from "../../shared/memory/memory-line.ts";
import { mentionsOf, tombstoneOf } from "../../shared/memory/tombstone.ts";
import type { MemoryRecord } from "../../shared/protocol/memory-schemas.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
let ledger: Ledger;
let agentId: string;
let agents = 0;
const id = memoryId("Ada likes tea");

beforeAll(async () => {
  state = await startState();
  ledger = openLedger(state.table);
});
beforeEach(() => {
  agentId = `ledger-${++agents}`;
});
afterAll(() => state.close());

const said = (kind: string, at: number, sessionId = `s-${at}`) =>
  ({ id, type: "project", kind, at, by: "agent", sessionKey: `agent:a:${kind}`, sessionId }) as MemoryRecord;
const note = async (...records: MemoryRecord[]) => {
  for (const record of records) await ledger.note(agentId, record);
  return ledger.find(agentId, id);
};
const kindsOf = (record?: MemoryRecord) => [record, ...(record?.others ?? [])].map((one) => one?.kind);

describe("the record of a memory", () => {
  it("has its best origin first, and the others behind it in the order in which they came", async () => {
    const record = await note(said("group", 1), said("cron", 2), said("dm", 3), said("system", 4));
    expect(kindsOf(record)).toEqual(["dm", "cron", "group", "system"]);
    expect(record?.at).toBe(3);
    expect(record?.others?.map(({ at }) => at)).toEqual([2, 1, 4]);
  });

  it("keeps its first origin when another of the same kind comes later", async () => {
    const record = await note(said("dm", 1), said("dm", 2));
    expect([record?.at, record?.others?.[0]?.at]).toEqual([1, 2]);
  });

  it("is not changed by an origin that it has, as the first one or as another", async () => {
    const record = await note(said("dm", 1), said("group", 2));
    expect(await note(said("dm", 5, "s-1"), said("group", 6, "s-2"))).toEqual(record);
    expect(kindsOf(await note(said("dm", 5, "s-2")))).toEqual(["dm", "group", "dm"]);
  });

  it("has at most eight other origins, and forgets the newest of them", async () => {
    const record = await note(...Array.from({ length: 12 }, (_, i) => said("group", i + 1)));
    expect(record?.others?.map(({ at }) => at)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it("loses the fields that a better origin does not have, and keeps its own origins", async () => {
    const { sessionKey: _, sessionId: __, ...plain } = said("main", 2);
    const record = await note({ ...said("group", 1), origins: ["guest:telegram:7"] }, plain);
    expect(record).toEqual({
      ...plain,
      others: [
        {
          ...{ kind: "group", at: 1, by: "agent", sessionKey: "agent:a:group", sessionId: "s-1" },
          origins: ["guest:telegram:7"],
        },
      ],
    });
  });

  it("names the memory that replaced it, until it is allowed again", async () => {
    await note(said("main", 1));
    await ledger.supersede(agentId, id, { id: "other", at: 2 });
    expect(await ledger.find(agentId, id)).toMatchObject({ supersededBy: "other" });
    expect(await ledger.tombs(agentId)).toEqual([{ id, at: 2, isCorrected: true }]);
    expect(await ledger.allow(agentId, id)).toBe(true);
    expect(await ledger.find(agentId, id)).toEqual(said("main", 1));
    expect(await ledger.allow(agentId, id)).toBe(false);
  });

  it("names no other memory when it only ended, and none is made for a memory without one", async () => {
    await ledger.supersede(agentId, id, { id: "other", at: 2 });
    expect(await ledger.find(agentId, id)).toBeUndefined();
    await note(said("main", 1));
    await ledger.supersede(agentId, id, { at: 3 });
    expect(await ledger.find(agentId, id)).toEqual(said("main", 1));
  });
});

describe("the list of forgotten memories", () => {
  it("has the newest first, and says where one was left out last", async () => {
    await ledger.forget(agentId, "Ada likes tea", 1);
    await ledger.supersede(agentId, "corrected", { at: 3 });
    await ledger.forget(agentId, "Bo lives in Bern", 2);
    const last = { at: 9, sessionKey: "agent:a:main", sessionId: "s-9" };
    await ledger.suppressed(agentId, id, last);
    await ledger.suppressed(agentId, "unknown", last);
    expect(await ledger.tombs(agentId)).toEqual([
      { id: "corrected", at: 3, isCorrected: true },
      { id: memoryId("Bo lives in Bern"), at: 2, isCorrected: false },
      { id, at: 1, isCorrected: false, suppressed: last },
    ]);
  });
});

describe("a text mentions a forgotten memory", () => {
  const gone = "The alarm code of the garden house is 4711";
  const mentions = (text: string, forgotten = gone) =>
    mentionsOf("a", new Map([[memoryId(forgotten), tombstoneOf("a", forgotten)]]))(text);

  it.each([
    ["the same", gone],
    ["the same with other spaces and capitals", `  ${gone.toLowerCase()}. `],
    ["a sentence of a longer text", `It rained all day. ${gone}. Nobody came.`],
    [
      "more words in its sentence",
      "By the way, the alarm code of the old garden house is still 4711, says Bo",
    ],
    ["most of its words", "alarm code, garden house: 4711"],
  ])("when it has %s", (_, text) => {
    expect(mentions(text)).toBe(true);
  });

  it.each([
    ["another number", "The alarm code of the garden house is 4712"],
    ["no number", "The alarm code of the garden house"],
    ["fewer of its words", "The garden is 4711"],
    ["its words in different sentences", "The alarm code was changed. The garden house is red. It cost 4711"],
    ["nothing in common", "Bo lives in Bern"],
    ["no words", ""],
  ])("not when it has %s", (_, text) => {
    expect(mentions(text)).toBe(false);
  });

  it("not without its negation and its names", () => {
    expect(mentions("Max eats peanuts", "Max never eats peanuts")).toBe(false);
    expect(mentions("today Max never eats peanuts", "Max never eats peanuts")).toBe(true);
    expect(mentions("Moritz never eats peanuts at school", "Max never eats peanuts at school")).toBe(false);
  });

  it("only in the same words when the memory was corrected", () => {
    const corrected = mentionsOf("a", new Map([[memoryId(gone), { words: [] }]]));
    expect([gone, `So: yes. ${gone}.`].map(corrected)).toEqual([true, true]);
    expect(["alarm code, garden house: 4711", "", "Bo"].map(corrected)).toEqual([false, false, false]);
  });

  it("of another agent never, but in the same words", () => {
    const tombs = new Map([[memoryId(gone), tombstoneOf("a", gone)]]);
    expect(mentionsOf("b", tombs)("alarm code, garden house: 4711")).toBe(false);
  });

  it("of several when it has one of them", () => {
    const texts = ["Ada drinks green tea", gone, "Bo lives in Bern"];
    const tombs = new Map(texts.map((text) => [memoryId(text), tombstoneOf("a", text)]));
    expect(mentionsOf("a", tombs)("perhaps Bo lives in Bern now")).toBe(true);
    expect(mentionsOf("a", new Map())(gone)).toBe(false);
  });
});
