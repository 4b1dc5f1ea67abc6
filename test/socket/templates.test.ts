import { describe, expect, it } from "vitest";
import { writeTemplates } from "../../functions/socket/templates.ts";
import { createWorkspaceLoader } from "../../shared/workspace/load.ts";
import { createMemoryBucket } from "../support/memory-bucket.ts";

const names = [
  "BOOTSTRAP.md",
  "SOUL.md",
  "IDENTITY.md",
  "USER.md",
  "AGENTS.md",
  "MEMORY.md",
  "TOOLS.md",
  "HEARTBEAT.md",
];

describe("the files a new agent starts with", () => {
  it("are all written to an empty workspace, the ceremony first", async () => {
    const bucket = createMemoryBucket({ "agents/other/SOUL.md": "x" });
    expect(await writeTemplates(bucket, "main")).toEqual(names);
    for (const name of names) expect(bucket.peek(`agents/main/${name}`)?.trim()).toBeTruthy();
    expect((await bucket.get("agents/main/SOUL.md"))?.contentType).toBe("text/markdown; charset=utf-8");
  });

  it("C5: say in AGENTS.md how the agent works, and which peers it has", async () => {
    const bucket = createMemoryBucket();
    await writeTemplates(bucket, "main");
    const agents = bucket.peek("agents/main/AGENTS.md") ?? "";
    for (const heading of ["# Operating instructions", "## Work", "## Peers"])
      expect(agents).toContain(`${heading}\n`);
  });

  it("C6: name memory/ for daily notes, and no other folder", async () => {
    const bucket = createMemoryBucket();
    await writeTemplates(bucket, "main");
    const texts = names.map((name) => bucket.peek(`agents/main/${name}`)).join("\n");
    expect(texts).toContain("memory/YYYY-MM-DD.md");
    expect(texts).not.toContain("notes/");
  });

  it("start a first run without a heartbeat", async () => {
    const bucket = createMemoryBucket();
    await writeTemplates(bucket, "main");
    const request = { agentId: "main", audience: "main", now: Date.now(), timezone: "UTC" } as const;
    const { files } = await createWorkspaceLoader(bucket).load(request);
    expect(files.bootstrap).toContain("delete BOOTSTRAP.md");
    expect(files).not.toHaveProperty("heartbeat");
  });

  it("never replace existing files", async () => {
    const bucket = createMemoryBucket({ "agents/main/SOUL.md": "mine" });
    const written = await writeTemplates(bucket, "main");
    expect(written).toEqual(names.filter((name) => !["SOUL.md", "BOOTSTRAP.md"].includes(name)));
    expect(bucket.peek("agents/main/SOUL.md")).toBe("mine");
    expect(await writeTemplates(bucket, "main")).toEqual([]);
  });

  it("do not repeat the ceremony", async () => {
    const bucket = createMemoryBucket();
    await writeTemplates(bucket, "main");
    await bucket.delete("agents/main/BOOTSTRAP.md");
    await bucket.delete("agents/main/TOOLS.md");
    expect(await writeTemplates(bucket, "main")).toEqual(["TOOLS.md"]);
  });

  it("are completed if the first write was interrupted", async () => {
    const bucket = createMemoryBucket();
    const broken = {
      ...bucket,
      put: async (...put: Parameters<typeof bucket.put>) => {
        if (put[0].endsWith("IDENTITY.md")) throw new Error("crash");
        return bucket.put(...put);
      },
    };
    await expect(writeTemplates(broken, "main")).rejects.toThrow("crash");
    await writeTemplates(bucket, "main");
    expect(bucket.keys().sort()).toEqual(names.map((name) => `agents/main/${name}`).sort());
  });

  it("are each written once by two parallel writers", async () => {
    const bucket = createMemoryBucket();
    const written = await Promise.all([writeTemplates(bucket, "main"), writeTemplates(bucket, "main")]);
    expect(written.flat().sort()).toEqual([...names].sort());
  });

  it("are refused for an agent id that is not normalized", async () => {
    await expect(writeTemplates(createMemoryBucket(), "Main")).rejects.toMatchObject({ code: 400 });
  });
});
