/** `npm run simulate`. */
import { runBundled } from "../support/run/run-bundled.mjs";

await runBundled("test/simulate/main.ts");
