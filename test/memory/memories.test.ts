import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openMemories } from "../../shared/memory/memories.ts";
import { tombstoneOf } from "../../shared/memory/tombstone.ts";
import type { Audience } from "../../shared/workspace/privacy.ts";
import { openWorkspace } from "../../shared/workspace/workspace-files.ts";
import { type State, startState } from "../support/state.ts";
import { type Life, mortalStore } from "./mortal-store.ts";

let state: State;
let agentId: string;
let agents = 0;
const now = Date.parse("2026-05-05T08:00:00Z");
const note = "memory/2026-05-05.md";

beforeAll(async () => {
  state = await startState();
});
beforeEach(() => {
  agentId = `a${++agents}`;
});
afterAll(() => state.close());

const memories = (life?: Life) => {
  const { table, bucket } = mortalStore(state, life);
  return openMemories({ table, bucket, workspace: openWorkspace(bucket) });
};
const use = (audience: Audience = "main") => ({ agentId, audience, now, timezone: "UTC" });
const origin = { sessionKey: "agent:main:main", sessionId: "s-1", kind: "main", by: "agent" } as const;
const last = { at: now, sessionKey: "agent:main:main", sessionId: "s-9" };
const write = (path: string, text: string) => state.bucket.put(`agents/${agentId}/${path}`, text);
const read = async (path: string) => {
  const found = await state.bucket.get(`agents/${agentId}/${path}`);
  return found && Buffer.from(found.body).toString();
};
const texts = async (query = "", audience: Audience = "main") =>
  (await memories().recall(use(audience), query, 50)).map(({ text }) => text);

describe("a memory", () => {
  it("I26: is remembered as a line of the day's notes, once, with its origin beside it", async () => {
    const made = await memories().remember(use(), "Ada likes tea", origin);
    await memories().remember({ ...use(), now: now + 1 }, "ada likes tea.", { ...origin, sessionId: "s-2" });
    expect(await read(note)).toBe("- Ada likes tea\n");
    expect(await memories().read(use(), made.id)).toEqual({
      id: made.id,
      text: "Ada likes tea",
      places: [{ path: note, line: 1 }],
      record: {
        ...{ id: made.id, ...origin, at: now, type: "project" },
        others: [{ ...origin, sessionId: "s-2", at: now + 1 }],
      },
    });
  });

  it("I26: is recalled by its words, and by its day, the best first", async () => {
    await write(
      "MEMORY.md",
      "# MEMORY.md\n\n- Ada drinks tea, never coffee\n- The wifi password is on the fridge\n",
    );
    await write("memory/2026-03-08.md", "- The boiler was repaired\n");
    await write("memory/shared/2026-03-08.md", "- said by a room\n");
    expect((await texts("what does Ada drink?"))[0]).toBe("Ada drinks tea, never coffee");
    expect((await texts("what was on 8 March?"))[0]).toBe("The boiler was repaired");
    expect(await texts("xylophone")).toEqual([]);
    expect(await texts()).toHaveLength(3);
    expect((await memories().recall(use(), "", 2)).map(({ rank }) => rank)).toEqual([1, 2]);
  });

  it("is shown only to conversations that may see its file", async () => {
    await write("MEMORY.md", "- long-term\n");
    await write(note, "- of the day\n");
    expect(await texts("", "main")).toEqual(["long-term", "of the day"]);
    await write("USER.md", "- **Name:** Ada\n- **Timezone:**\n");
    expect(await texts("", "own")).toEqual(["**Name:** Ada", "of the day"]);
    expect(await texts("", "direct")).toEqual(["of the day"]);
    expect(await texts("", "shared")).toEqual([]);
    await expect(memories().remember(use("shared"), "planted", origin)).rejects.toMatchObject({ code: 403 });
  });

  it("that is corrected is struck out where it stands, and another takes its place", async () => {
    await write("MEMORY.md", "- Ada likes coffee\n- x\n");
    const old = (await memories().recall(use(), "coffee", 1))[0];
    const { by, files } = await memories().supersede(use(), old?.id ?? "", "Ada likes tea", origin);
    expect(files).toEqual(["MEMORY.md"]);
    expect(await read("MEMORY.md")).toBe("- ~~Ada likes coffee (until 2026-05)~~\n- x\n");
    expect(await texts()).toEqual(["x", "Ada likes tea"]);
    expect(by.text).toBe("Ada likes tea");
    await expect(memories().supersede(use(), by.id, "ADA likes tea", origin)).rejects.toMatchObject({
      code: 400,
    });
    await expect(memories().supersede(use(), old?.id ?? "", "again", origin)).rejects.toMatchObject({
      code: 404,
    });
  });

  it("that is corrected does not return by an extraction, only by a correction", async () => {
    const old = await memories().remember(use(), "Ada likes coffee", origin);
    const { by } = await memories().supersede(use(), old.id, "Ada likes tea", origin);
    const extracted = "- Ada likes coffee\n- Ada likes coffee cups";
    expect(await memories().withoutForgotten(agentId, extracted, last)).toBe("- Ada likes coffee cups");
    const back = await memories().supersede(use(), by.id, "Ada likes coffee", origin);
    expect(back.by.record).not.toHaveProperty("supersededBy");
    expect(await texts()).toEqual(["Ada likes coffee"]);
    expect(await memories().withoutForgotten(agentId, extracted, last)).toBe(extracted);
  });

  it("that is struck out, or that a guest said too, is forgotten as well", async () => {
    await write("MEMORY.md", "- the alarm code is 4711 _(score=0.42, hits=5, days=3)_\n- x\n");
    await write("memory/shared/2026-05-04.md", "### Said by others\n\n- The alarm code is 4711.\n- y\n");
    const [{ id } = { id: "" }] = await memories().recall(use(), "alarm", 1);
    await memories().supersede(use(), id, "the alarm code is 4712", origin);
    expect(await read("MEMORY.md")).toContain("- ~~the alarm code is 4711");
    expect(await memories().forget(use(), id)).toEqual(["MEMORY.md", "memory/shared/2026-05-04.md"]);
    expect(await read("MEMORY.md")).toBe("- x\n");
    expect(await read("memory/shared/2026-05-04.md")).toBe("### Said by others\n\n- y\n");
    expect(await texts()).toEqual(["x", "the alarm code is 4712"]);
    await expect(memories().forget(use(), id)).rejects.toMatchObject({ code: 404 });
  });

  it("that is forgotten is in no file, and no extraction brings it back, nor what says nearly the same", async () => {
    const { id } = await memories().remember(use(), "Ada's bank is the Old Bank of Bergen", origin);
    await write("MEMORY.md", "- Ada's bank is the Old Bank of Bergen _(score=0.42, hits=5, days=3)_\n- x\n");
    expect(await memories().forget(use(), id)).toEqual(["MEMORY.md", note]);
    expect([await read("MEMORY.md"), await read(note)]).toEqual(["- x\n", ""]);
    const extracted = [
      "- Ada's bank is the Old Bank of Bergen",
      "- Ada's bank is called the Old Bank of Bergen, she said",
      "- Ada likes the town of Bergen",
      "- Ada has left the Old Bank of Bergen: her bank is now the Savings Bank in Oslo, since March",
    ].join("\n");
    const left = await memories().withoutForgotten(agentId, extracted, last);
    expect(left.split("\n")).toEqual(extracted.split("\n").slice(2));
    // The tombstone gives nothing away.
    const tombs = await state.table.query({ pk: `FORGOTTEN#${agentId}` });
    expect(JSON.stringify(tombs)).not.toMatch(/bank|bergen/i);
    // Said again on purpose, it is remembered.
    await memories().remember(use(), "Ada's bank is the Old Bank of Bergen", origin);
    expect(
      await memories().withoutForgotten(agentId, "- Ada's bank is the Old Bank of Bergen", last),
    ).not.toBe("");
  });

  it("that is forgotten does not keep out what says something new", async () => {
    const forget = async (text: string) =>
      memories().forget(use(), (await memories().remember(use(), text, origin)).id);
    await forget("Max takes 20 mg of fluoxetine every morning");
    await forget("The team meets Zoe on Tuesday in Bern");
    await forget("Paula ya vive en Lima desde 2019");
    await forget("Ada is allergic to peanuts");
    await forget("Max drinks coffee in the morning");
    const fresh = [
      "- Max takes 40 mg of fluoxetine every morning",
      "- Max takes 20 mg of sertraline every morning, not fluoxetine",
      "- Max no longer takes 20 mg of fluoxetine",
      "- Max doesn't take 20 mg of fluoxetine every morning",
      "- Max stopped taking 20 mg of fluoxetine",
      "- Anna takes 20 mg of fluoxetine every morning",
      "- The team meets Zoe on Thursday in Bern",
      "- The team meets Zoe on Tuesday in Basel",
      "- On Tuesday the team meets Kim in Bern",
      "- Paula ya vive en Lima desde 2021",
      "- Ada is allergic to penicillin",
      "- Max drinks tea in the morning",
    ];
    const again = [
      "- Every morning, Max takes fluoxetine (20 mg)",
      "- Max is taking 20 mg fluoxetine in the morning",
      "- Medication of Max: fluoxetine, 20 mg, every morning",
      "- On Tuesday the team has a meeting with Zoe in Bern",
    ];
    const extracted = [...fresh, ...again].join("\n");
    expect((await memories().withoutForgotten(agentId, extracted, last)).split("\n")).toEqual(fresh);
  });

  it("that is forgotten is listed without its text, with where it was kept out, until it is allowed", async () => {
    const { id } = await memories().remember(use(), "Ada's bank is the Old Bank of Bergen", origin);
    await memories().forget(use(), id);
    const line = "- Ada's bank: the Old Bank of Bergen";
    await memories().withoutForgotten(agentId, line, last);
    const listed = await memories().ledger.tombs(agentId);
    expect(listed).toEqual([{ id, at: now, isCorrected: false, suppressed: last }]);
    expect(await memories().ledger.allow(agentId, id)).toBe(true);
    expect(await memories().ledger.allow(agentId, id)).toBe(false);
    expect(await memories().withoutForgotten(agentId, line, last)).toBe(line);
  });

  it("that an older release has forgotten keeps out only what has no new number, name or negation", async () => {
    const { words } = tombstoneOf(agentId, "Max takes 20 mg of fluoxetine");
    await state.table.put({ pk: `FORGOTTEN#${agentId}`, sk: "0123456789abcdef", at: now, words });
    const fresh = ["- Max takes 40 mg of fluoxetine", "- Max does not take 20 mg of fluoxetine"].join("\n");
    const extracted = `${fresh}\n- Max takes fluoxetine, 20 mg`;
    expect(await memories().withoutForgotten(agentId, extracted, last)).toBe(fresh);
  });

  it("has all its origins, the best kind first: a room that said it first does not own it", async () => {
    const from = {
      sessionKey: "agent:main:telegram:group:1",
      sessionId: "g",
      kind: "group",
      at: now,
      origins: [],
    };
    await memories().keepExtracted(agentId, "- planted by a room", from);
    await write(note, "- planted by a room\n");
    await memories().keepExtracted(agentId, "- planted by a room", { ...from, kind: "main", sessionId: "m" });
    expect((await memories().recall(use(), "planted", 1))[0]?.record).toMatchObject({
      kind: "main",
      sessionId: "m",
      others: [from].map(({ sessionKey, sessionId, kind, at }) => ({
        ...{ sessionKey, sessionId, kind, at, by: "extraction", origins: [] },
      })),
    });
    await memories().keepExtracted(agentId, "- planted by a room", {
      ...from,
      sessionId: "h",
      kind: "mixed",
    });
    expect((await memories().recall(use(), "planted", 1))[0]?.record).toMatchObject({ kind: "main" });
  });

  it.each(["remember", "forget", "supersede"] as const)(
    "%s comes to the same end, killed before whichever call",
    async (what) => {
      const run = async (life?: Life) => {
        await write("MEMORY.md", "- x\n- Ada likes coffee\n");
        const [{ id } = { id: "" }] = await memories().recall(use(), "coffee", 1);
        const act = (on: ReturnType<typeof memories>) => {
          if (what === "remember") return on.remember(use(), "new", origin);
          if (what === "forget") return on.forget(use(), id);
          return on.supersede(use(), id, "Ada likes tea", origin);
        };
        const killed = await act(memories(life)).then(
          () => false,
          () => true,
        );
        if (killed) await act(memories()).catch((error) => expect(error).toMatchObject({ code: 404 }));
        const records = [...(await memories().ledger.all(agentId)).values()];
        const tombs = (await state.table.query({ pk: `FORGOTTEN#${agentId}` })).length;
        return { killed, left: [await read("MEMORY.md"), await read(note), records.length, tombs] };
      };
      const whole = await run();
      for (let left = 0; ; left++) {
        agentId = `a${++agents}`;
        const broken = await run({ left });
        expect(broken.left, `killed before call ${left}`).toEqual(whole.left);
        if (!broken.killed) return expect(left).toBeGreaterThan(3);
      }
    },
  );
});
