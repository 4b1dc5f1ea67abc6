// @ts-check
// Runs at the end of `npm ci`, so that the first start finds a build. When this fails, the first start
// builds.
import { fileURLToPath } from "node:url";
import { openBuild } from "./open-build.mjs";

await openBuild(fileURLToPath(new URL("../..", import.meta.url))).catch((error) => {
  console.error(`gsv: not built yet: ${error.message}`);
});
