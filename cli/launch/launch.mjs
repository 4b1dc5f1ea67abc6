// @ts-check
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { keepCompiledCode } from "./compiled-code.mjs";
import { endWith, LaunchError } from "./launch-error.mjs";
import { openBuild } from "./open-build.mjs";

/**
 * Runs the command line of this process from the build of the current sources. Builds them first when needed.
 */
export async function launch() {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  let build = "";
  try {
    build = await openBuild(root, { onSlow });
  } catch (error) {
    if (!(error instanceof LaunchError)) throw error;
    endWith(error.message);
  }
  keepCompiledCode(join(build, "compiled"));
  const { runProcess } = await import(pathToFileURL(join(build, "main.mjs")).href);
  await runProcess();
}

function onSlow() {
  if (process.stderr.isTTY)
    console.error("gsv: building the program; it is built once for each version of its sources");
}
