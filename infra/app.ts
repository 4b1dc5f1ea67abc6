import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleFunction, bundleTarget } from "./bundle.ts";
import { createApp } from "./create-app.ts";
import { functionNames } from "./permissions.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

try {
  // Every command of the CDK synthesizes first, `bootstrap` and `destroy` too: none needs a build before it, or takes
  // an old one.
  for (const name of functionNames) await bundleFunction(bundleTarget(root, name), "silent");
  createApp(join(root, "dist", "functions")).app.synth();
} catch (error) {
  // What is wrong can be read from the message; CDK's own errors print a long stack before it.
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
