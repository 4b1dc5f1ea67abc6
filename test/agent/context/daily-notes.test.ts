import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createPromptSource } from "../../../functions/agent/context/prompt-source.ts";
import { createMemoryBucket } from "../../support/memory-bucket.ts";
import { isReading } from "../../support/models/model-window.ts";
import { message, ResetBench } from "../reset-bench.ts";

const turns = new ResetBench();
beforeAll(() => turns.start());
beforeEach(() => turns.renew());
afterAll(() => turns.close());

/** Seven in the evening of 1 March, and of 2 March, in Los Angeles: in UTC it is the next day. */
const [evening, nextEvening] = [Date.parse("2026-03-02T03:00:00Z"), Date.parse("2026-03-03T03:00:00Z")];

describe("daily notes are those of the user's day", () => {
  it("when a conversation of yesterday evening is remembered, and read", async () => {
    turns.bench.configuration.userTimezone = "America/Los_Angeles";
    const notes = `agents/${turns.agentId}/memory`;
    await turns.state.bucket.put(`${notes}/2026-03-02.md`, "noted this morning");
    await turns.seed({ updatedAt: evening });
    await turns.submit(message("hello again", nextEvening));
    await turns.invoke(nextEvening);
    const later = nextEvening + 600_000;
    await turns.submit({ ...message("and now?", later), id: "later" });
    await turns.invoke(later);
    const written = await turns.state.bucket.get(`${notes}/2026-03-01.md`);
    expect(Buffer.from(written!.body).toString()).toContain("(19:00)\n\n- likes tea");
    const { system } = turns.model.requests.filter((request) => !isReading(request)).at(-1)!;
    expect(system).toMatch(/### Yesterday\n\n.*\(19:00\)\n\n- likes tea\n+### Today\n\nnoted this morning/);
  });

  it("also if the timezone has just been changed", async () => {
    const bucket = createMemoryBucket({ "agents/main/memory/2026-03-01.md": "the first" });
    const { load } = createPromptSource(bucket);
    const request = { agentId: "main", audience: "main", now: evening } as const;
    expect((await load({ ...request, timezone: "UTC" })).files).toEqual({ yesterday: "the first" });
    const there = { ...request, timezone: "America/Los_Angeles" };
    expect((await load(there)).files).toEqual({ today: "the first" });
  });
});
