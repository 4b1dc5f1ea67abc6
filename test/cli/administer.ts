import { expect } from "vitest";
import { until } from "../support/until.ts";
import { gsv } from "./run-gsv.ts";

/**
 * Gets admin rights for a gateway of `gsv dev` as a user does: asks for a code, and reads it in the gateway's terminal.
 * @param options of `gsv admin`
 * @returns the token for GSV_ADMIN_TOKEN
 */
export async function administer(
  cwd: string,
  serving: { stderr(): string },
  options: readonly string[] = [],
): Promise<string> {
  const shown = () => [...serving.stderr().matchAll(/type (\S+) there/g)];
  const before = shown().length;
  const asked = await gsv(["admin", ...options], { cwd });
  expect(asked.stderr).toContain("run `gsv admin --code CODE` within two minutes");
  await until(() => shown().length > before, "the gateway shows a code");
  const run = await gsv(["admin", "--code", shown().at(-1)?.[1] ?? "", ...options], { cwd });
  expect(run, run.stderr).toMatchObject({ code: 0 });
  return run.stdout.trim();
}
