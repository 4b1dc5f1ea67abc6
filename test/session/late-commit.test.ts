import { expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { appendEntry } from "../../shared/session/inbox.ts";
import { acquire, commit } from "../../shared/session/lease.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { set } from "../../shared/world/expression.ts";
import type { Table } from "../../shared/world/world.ts";

const sessionKey = "agent:main:late";

it("a commit that was given up and is carried out behind a later one changes nothing", async () => {
  const table = createMemoryTable();
  const entry = { id: "m", at: 0, origin: { kind: "client" }, kind: "message", text: "" } as const;
  await appendEntry(table, sessionKey, entry, 0);
  const { lease, state } = (await acquire(table, sessionKey, "holder", 0))!;
  const given: Parameters<Table["update"]>[] = [];
  const noting: Table = {
    ...table,
    update: (...write) => {
      given.push(write);
      return table.update(...write);
    },
  };
  const third = await commit(noting, lease, [set("head", 3)], state);
  const repeated = await commit(table, lease, [set("head", 3)], state);
  expect(repeated).toEqual(third);
  await commit(table, lease, [set("head", 4)], third);
  const [late] = given;
  await expect(table.update(...late!)).rejects.toThrow("condition");
  expect((await readSession(table, sessionKey))?.head).toBe(4);
});
