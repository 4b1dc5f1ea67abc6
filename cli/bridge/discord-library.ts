import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Failure } from "../app/failure.ts";
import { programFile } from "../app/installation.ts";

/** The version that this bridge was tested with. */
const library = "@discordjs/ws@2.0.4";

/**
 * Loads the library for Discord's gateway. It is not part of this package, because only the bridge needs it; npm puts it
 * beside this package.
 * @throws Failure with the command that installs it
 */
export async function loadLibrary(): Promise<typeof import("@discordjs/ws")> {
  let file: string;
  try {
    file = createRequire(programFile()).resolve("@discordjs/ws");
  } catch {
    throw new Failure(
      "no-library",
      `the Discord bridge needs a library that is not installed; run \`npm install --global ${library}\``,
    );
  }
  return import(pathToFileURL(file).href);
}
