#!/usr/bin/env node
import { createRequire } from "node:module";

// Plain JavaScript, so that an old Node can parse this file and print the version error.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  const message = `Node ${process.versions.node} is too old; install Node 20.19 or newer`;
  if (process.argv.includes("--json")) console.log(JSON.stringify({ error: { code: "node", message } }));
  else console.error(`gsv: ${message}`);
  process.exit(1);
}
// `require` loads `node:fs` in half of the time that `import` takes.
const { existsSync } = createRequire(import.meta.url)("node:fs");
// A checkout has a launcher, which builds the current sources. The package that npm installed has one build.
const launcher = new URL("./launch/launch.mjs", import.meta.url);
const { launch } = await import(existsSync(launcher) ? launcher.href : "./dist/launch.mjs");
await launch();
