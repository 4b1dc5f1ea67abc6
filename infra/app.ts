import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleFunction, bundleTarget } from "./bundle.ts";
import { createApp } from "./create-app.ts";
import { functionNames } from "./permissions.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

try {
  // Every CDK command, `bootstrap` and `destroy` too, runs this file first. Bundling here avoids outdated
  // bundles.
  for (const name of functionNames) await bundleFunction(bundleTarget(root, name), "silent");
  createApp(join(root, "dist", "functions")).app.synth();
} catch (error) {
  // The message is enough; CDK itself would print a long stack before it.
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
