import type { TestProject } from "vitest/node";
import { openBuild } from "../../../cli/launch/open-build.mjs";
import { provideBundles } from "./bundles.ts";

/**
 * Builds what several tests start, once for a run: the command line and, when end-to-end tests are in the run, the
 * functions. Returns what removes the functions' bundles.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const [remove] = await Promise.all([provideBundles(project), openBuild(process.cwd())]);
  return remove;
}
