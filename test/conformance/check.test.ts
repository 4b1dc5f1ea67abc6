import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";

/** Runs the command on one small scenario. */
function check(...options: string[]) {
  const start = "test/conformance/start.mjs";
  return spawnSync(process.execPath, [start, ...options, "a job: an edit"], { encoding: "utf8" });
}

it("an incomplete exploration has its own exit code", () => {
  const { status, stderr } = check("--states", "10");
  expect(stderr).toMatch(/^incomplete: a scenario has more than 10 states/);
  expect(status).toBe(3);
});

it("a complete exploration without a violation succeeds", () => {
  expect(check()).toMatchObject({ status: 0, stderr: "" });
});
