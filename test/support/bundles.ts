import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundleFunction, bundleTarget } from "../../infra/bundle.ts";
import { functionNames } from "../../infra/permissions.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Folder of the functions' bundles, built from the sources as they are now. */
    bundles: string;
  }
}

/** Builds the bundles once for a run of the tests, in a folder that is removed at its end. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "gsv-bundles-"));
  for (const name of functionNames) {
    const { entry } = bundleTarget(process.cwd(), name);
    await bundleFunction({
      entry,
      outDir: join(folder, name),
      metaFile: join(folder, "meta", `${name}.json`),
    });
  }
  project.provide("bundles", folder);
  return () => rm(folder, { recursive: true, force: true });
}
