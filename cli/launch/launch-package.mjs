// @ts-check
import { homedir } from "node:os";
import { join } from "node:path";
import { keepCompiledCode } from "./compiled-code.mjs";

/** Runs the command line of this process from the package that npm installed. */
export async function launch() {
  keepCompiledCode(join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "gsv", "compiled"));
  const { runProcess } = await import("../app/main.ts");
  await runProcess();
}
