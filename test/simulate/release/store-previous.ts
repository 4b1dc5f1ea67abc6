/**
 * `npx tsx test/simulate/release/store-previous.ts FOLDER`: stores the code of a release, whose sources are in a folder, as
 * the previous one for schedules in which two releases share the data.
 */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";
import { previousFile } from "./previous.ts";

const entry = `
export { createAgent } from "./functions/agent/agent-handler.ts";
export { holdSession } from "./functions/agent/session-loop.ts";
export { createTimerHandler } from "./functions/timer/timer-handler.ts";
export { acceptResult } from "./functions/socket/calls/node-calls.ts";
export { submitEntry, submitMessage } from "./shared/session/intake.ts";
export { setLogOutput } from "./shared/runtime/log.ts";
export { ConditionFailed, PreconditionFailed } from "./shared/world/world.ts";
`;

const { outputFiles } = await build({
  stdin: { contents: entry, resolveDir: resolve(process.argv[2] ?? "."), loader: "js" },
  ...{ bundle: true, platform: "node", format: "esm", packages: "external", minify: true, write: false },
});
const packed = brotliCompressSync(outputFiles[0]?.contents ?? "");
writeFileSync(previousFile, packed);
console.log(`${previousFile}: ${Math.ceil(packed.length / 1024)} KB`);
