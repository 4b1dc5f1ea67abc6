/** Starts `check.ts`, the exhaustive check: `node test/conformance/start.mjs [--deep] [part of a scenario's name]`. */
import { runBundled } from "../support/run/run-bundled.mjs";

await runBundled("test/conformance/check.ts");
