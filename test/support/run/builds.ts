import type { TestProject } from "vitest/node";
import { openBuild } from "../../../cli/launch/open-build.mjs";
import { provideBundles } from "./bundles.ts";

/**
 * Builds what several tests start, once for a run: the command line and, if the run has end-to-end tests, the
 * functions. Returns a function that removes the bundles.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const [remove] = await Promise.all([provideBundles(project), openBuild(process.cwd())]);
  return remove;
}
