import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const clone = mkdtempSync(join(tmpdir(), "gsv-app-"));
afterAll(() => rmSync(clone, { recursive: true, force: true }));

test("the app synthesizes where nothing was built, with nothing but node in the PATH", async () => {
  cpSync(join(root, "infra"), join(clone, "infra"), { recursive: true });
  for (const name of ["functions", "shared", "node_modules", "package.json"])
    symlinkSync(join(root, name), join(clone, name));
  const { app } = JSON.parse(readFileSync(join(root, "cdk.json"), "utf8")) as { app: string };
  const path = { PATH: dirname(process.execPath), CDK_OUTDIR: join(clone, "cdk.out") };
  // What the template says is validated in checks.test.ts.
  const env = { ...path, CDK_VALIDATION: "false" };
  // As the CDK starts it.
  await promisify(execFile)("/bin/sh", ["-c", app], { cwd: clone, env });
  expect(existsSync(join(clone, "cdk.out/gsv-dev.template.json"))).toBe(true);
});
