import { expect, it } from "vitest";
import { killWriters } from "./table-kills.ts";

it.each([
  ["", false],
  [", and synced", true],
])("every acknowledged write survives kill -9%s", async (_, fsync) => {
  const report = await killWriters({ kills: 20, fsync, random: Math.random });
  expect(report).toMatchObject({ kills: 20, faults: [] });
  expect(report.acknowledged).toBeGreaterThan(0);
});
