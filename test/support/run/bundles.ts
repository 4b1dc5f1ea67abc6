import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import type { TemplateJson } from "../../infra/synthesis.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Folder of the functions' bundles, built from the current sources. */
    bundles: string;
    /** The template of the stage `local` with these bundles. */
    template: TemplateJson;
  }
}

/** Whether a test file runs the functions' bundles. */
const isEndToEnd = (path: string) => /\/test\/(account|e2e|skew)\//.test(path);

/**
 * Runs `cdk synth` once per test run, in a clean copy of the project and with only node in the PATH. The end-to-end
 * tests use its bundles and the permissions in its template. CDK's own validation of the template takes seconds:
 * `test/infra/cases/checks.ts` does it. Skipped in a run without end-to-end tests. Returns a function that removes the
 * bundles.
 */
export async function provideBundles(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!project.vitest.state.getPaths().some(isEndToEnd)) return undefined;
  const copy = await mkdtemp(join(tmpdir(), "gsv-synth-"));
  const remove = () => rm(copy, { recursive: true, force: true });
  try {
    await synthesize(process.cwd(), copy);
    const template = await readFile(join(copy, "cdk.out", "gsv-local.template.json"), "utf8");
    project.provide("bundles", join(copy, "dist", "functions"));
    project.provide("template", JSON.parse(template) as TemplateJson);
  } catch (error) {
    await remove();
    throw error;
  }
  return remove;
}

/** Bundles the project's functions and synthesizes the stage `local`, into `dist` and `cdk.out` of the copy. */
async function synthesize(root: string, copy: string): Promise<void> {
  await cp(join(root, "infra"), join(copy, "infra"), { recursive: true });
  const linked = ["functions", "shared", "web", "node_modules", "package.json", "cdk.json"];
  await Promise.all(linked.map((name) => symlink(join(root, name), join(copy, name))));
  const cdk = join(copy, "node_modules", "aws-cdk", "bin", "cdk");
  await promisify(execFile)(process.execPath, [cdk, "synth", "--quiet", "--context", "stage=local"], {
    cwd: copy,
    env: { PATH: dirname(process.execPath), HOME: copy, CDK_VALIDATION: "false" },
  });
}
