import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import manifest from "../package.json" with { type: "json" };
import { Failure } from "./failure.ts";

/**
 * The folder of this package, which holds `bin.mjs`: `cli` in a checkout, or the folder that npm installed. A bundle
 * is in a subfolder.
 */
function packageFolder(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, "bin.mjs")) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

/** Absolute path of the program, for a supervisor or another process that starts it. */
export function programFile(): string {
  return join(packageFolder(), "bin.mjs");
}

/** The folder of the checkout that this program runs from; undefined when npm installed the package alone. */
export function checkoutFolder(): string | undefined {
  const folder = dirname(packageFolder());
  return existsSync(join(folder, "infra", "app.ts")) ? folder : undefined;
}

/**
 * The folder of the checkout, for a command that builds the functions or runs the CDK.
 * @throws Failure when npm installed the package alone
 */
export function neededCheckout(command: string): string {
  const folder = checkoutFolder();
  if (folder !== undefined) return folder;
  throw new Failure(
    "no-checkout",
    `\`${command}\` builds the gateway from its sources, which this installation does not have; clone the repository, and in its folder run \`npm ci\` and \`npx ${command}\``,
  );
}

/** The version of this package. */
export const version: string = manifest.version;
