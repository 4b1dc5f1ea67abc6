import { describe, expect, it } from "vitest";
import { createWorkspaceLoader } from "../../shared/workspace/load.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";

const now = Date.parse("2026-03-01T02:30:00Z");
const everything = {
  "agents/main/SOUL.md": "soul",
  "agents/main/IDENTITY.md": "identity",
  "agents/main/USER.md": "user",
  "agents/main/AGENTS.md": "agents",
  "agents/main/MEMORY.md": "memory",
  "agents/main/TOOLS.md": "tools",
  "agents/main/HEARTBEAT.md": "check the mail",
  "agents/main/BOOTSTRAP.md": "bootstrap",
  "agents/main/memory/2026-02-27.md": "february 27",
  "agents/main/memory/2026-02-28.md": "february 28",
  "agents/main/memory/2026-03-01.md": "march 1",
  "agents/other/SOUL.md": "another soul",
};
const main = { agentId: "main", audience: "main", now, timezone: "UTC" } as const;
const direct = { ...main, audience: "direct" } as const;
const group = { ...main, audience: "shared" } as const;

describe("loading the prompt files", () => {
  it("I9: loads every file of a main session, today and yesterday by the calendar", async () => {
    const { files } = await createWorkspaceLoader(createMemoryBucket(everything)).load(main);
    expect(files).toEqual({
      soul: "soul",
      identity: "identity",
      user: "user",
      agents: "agents",
      memory: "memory",
      yesterday: "february 28",
      today: "march 1",
      tools: "tools",
      heartbeat: "check the mail",
      bootstrap: "bootstrap",
    });
  });

  it("takes today from the given timezone", async () => {
    const loader = createWorkspaceLoader(createMemoryBucket(everything));
    const { files } = await loader.load({ ...main, timezone: "America/Bogota" });
    expect(files).toMatchObject({ today: "february 28", yesterday: "february 27" });
  });

  it("I11: leaves out what is not there", async () => {
    const loader = createWorkspaceLoader(createMemoryBucket({ "agents/main/SOUL.md": "soul" }));
    expect(await loader.load(main)).toEqual({ files: { soul: "soul" }, origins: [] });
  });

  it("leaves out a heartbeat that asks for nothing", async () => {
    const bucket = createMemoryBucket({
      "agents/main/HEARTBEAT.md": "# Heartbeat\n\n<!-- nothing yet -->\n",
    });
    expect(await createWorkspaceLoader(bucket).load(main)).toEqual({ files: {}, origins: [] });
  });

  it("I8: asks for SOUL, IDENTITY and AGENTS in a shared session, and for nothing else", async () => {
    const bucket = createMemoryBucket(everything);
    const loader = createWorkspaceLoader(bucket);
    await loader.load(main);
    bucket.resetCounters();
    expect(await loader.load(group)).toEqual({
      files: { soul: "soul", identity: "identity", agents: "agents" },
      origins: [],
    });
    const names = bucket.requests.map(({ key }) => key.replace("agents/main/", ""));
    expect(names.sort()).toEqual(["AGENTS.md", "IDENTITY.md", "SOUL.md"]);
  });

  it("never asks for MEMORY.md nor USER.md in a direct message that is not the main session", async () => {
    const bucket = createMemoryBucket(everything);
    const { files } = await createWorkspaceLoader(bucket).load(direct);
    expect(files).toMatchObject({ today: "march 1", yesterday: "february 28", tools: "tools" });
    for (const name of ["memory", "user", "bootstrap"]) expect(files).not.toHaveProperty(name);
    for (const name of ["MEMORY.md", "USER.md"])
      expect(bucket.requests.map(({ key }) => key)).not.toContain(`agents/main/${name}`);
  });

  it("I7: loads USER.md, and not MEMORY.md, in a named session, a job's and the heartbeat's", async () => {
    const loader = createWorkspaceLoader(createMemoryBucket(everything));
    const { files } = await loader.load({ ...main, audience: "own" });
    expect(files).toMatchObject({ user: "user", today: "march 1" });
    expect(files).not.toHaveProperty("memory");
  });

  it("refuses an agent id that is not normalized", async () => {
    const loader = createWorkspaceLoader(createMemoryBucket());
    await expect(loader.load({ ...main, agentId: "../main" })).rejects.toMatchObject({ code: 400 });
  });
});

describe("a warm loader", () => {
  it("downloads nothing that has not changed", async () => {
    const bucket = createMemoryBucket(everything);
    const loader = createWorkspaceLoader(bucket);
    const cold = await loader.load(main);
    bucket.resetCounters();
    expect(await loader.load({ ...main, now: now + 1000 })).toEqual(cold);
    expect(bucket.downloads).toEqual([]);
    expect(bucket.calls).toMatchObject({ getIfChanged: 10, get: 0 });
  });

  it("downloads what has changed, has come, and notices what has gone", async () => {
    const bucket = createMemoryBucket({ "agents/main/SOUL.md": "old", "agents/main/USER.md": "user" });
    const loader = createWorkspaceLoader(bucket);
    await loader.load(main);
    await bucket.put("agents/main/SOUL.md", "new");
    await bucket.put("agents/main/TOOLS.md", "tools");
    await bucket.delete("agents/main/USER.md");
    bucket.resetCounters();
    expect(await loader.load(main)).toEqual({ files: { soul: "new", tools: "tools" }, origins: [] });
    expect(bucket.downloads.sort()).toEqual(["agents/main/SOUL.md", "agents/main/TOOLS.md"]);
  });

  it("asks nothing at all within its window of freshness, and asks again after it", async () => {
    const bucket = createMemoryBucket({ "agents/main/SOUL.md": "old" });
    const loader = createWorkspaceLoader(bucket, { maxAgeMs: 5000 });
    await loader.load(main);
    await bucket.put("agents/main/SOUL.md", "new");
    bucket.resetCounters();
    expect(await loader.load({ ...main, now: now + 4999 })).toEqual({ files: { soul: "old" }, origins: [] });
    expect(bucket.requests).toEqual([]);
    expect(await loader.load({ ...main, now: now + 5000 })).toEqual({ files: { soul: "new" }, origins: [] });
  });

  it("keeps the files of agents apart", async () => {
    const loader = createWorkspaceLoader(createMemoryBucket(everything));
    await loader.load(main);
    expect(await loader.load({ ...main, agentId: "other" })).toEqual({
      files: { soul: "another soul" },
      origins: [],
    });
  });
});
