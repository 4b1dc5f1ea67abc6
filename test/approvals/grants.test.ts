import { beforeEach, describe, expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { listGrants, putGrant, useGrant } from "../../shared/approvals/grants.ts";
import type { Grant } from "../../shared/protocol/approvals.ts";
import type { Table } from "../../shared/world/world.ts";

let table: Table;
beforeEach(() => {
  table = createMemoryTable();
});

const place = { sessionKey: "s", sessionId: "one", runId: "r" };

function put(id: string, scope: Grant["scope"], at: Partial<typeof place> = {}): Promise<void> {
  const here = { ...place, ...at };
  const grant: Grant = {
    ...{
      id,
      scope,
      agentId: "main",
      tool: "t",
      args: {},
      origins: [],
      createdBy: "c",
      createdAt: 1,
      uses: 0,
    },
    ...(scope === "always" ? {} : { sessionKey: here.sessionKey, runId: here.runId }),
  };
  return putGrant(table, grant, `calls of ${scope}`, here);
}
const isAllowed = async (scope: Grant["scope"], at: Partial<typeof place> = {}) =>
  (await useGrant(table, `calls of ${scope}`, { ...place, ...at }, 2)) !== undefined;
const ids = async () => (await listGrants(table)).map(({ id }) => id);

describe("a grant", () => {
  it("of a session ends with its conversation, one of a run with its run", async () => {
    for (const scope of ["run", "session", "always"] as const) await put(scope, scope);
    const later = { sessionId: "two", runId: "r2" };
    expect(await isAllowed("session", { runId: "r2" })).toBe(true);
    expect(await isAllowed("session", later)).toBe(false);
    expect(await isAllowed("run")).toBe(true);
    expect(await isAllowed("run", { runId: "r2" })).toBe(false);
    expect(await isAllowed("always", later)).toBe(true);
  });

  it("takes the place of those of its session that have ended", async () => {
    for (const scope of ["run", "session", "always"] as const) await put(scope, scope);
    await put("of another", "run", { sessionKey: "o" });
    await put("next", "run", { runId: "r2" });
    expect(await ids()).toEqual(["session", "always", "of another", "next"]);
    await put("last", "run", { sessionId: "two", runId: "r3" });
    expect(await ids()).toEqual(["always", "of another", "last"]);
  });

  it("for always outlives three hundred later ones of runs", async () => {
    await put("always", "always");
    await put("session", "session", { sessionKey: "o" });
    for (let i = 0; i < 300; i++) await put(`run ${i}`, "run", { sessionKey: `${i}` });
    expect((await ids()).slice(0, 3)).toEqual(["always", "session", "run 2"]);
    expect(await ids()).toHaveLength(300);
  });
});
