import { fileURLToPath } from "node:url";
import { createApp } from "./create-app.ts";

try {
  createApp(fileURLToPath(new URL("../dist/functions", import.meta.url))).app.synth();
} catch (error) {
  // What is wrong can be read from the message; CDK's own errors print a long stack before it.
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
