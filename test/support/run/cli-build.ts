import { openBuild } from "../../../cli/launch/open-build.mjs";

/** Builds the command line once before the tests that start it, of which several begin at the same time. */
export default async function setup(): Promise<void> {
  await openBuild(process.cwd());
}
