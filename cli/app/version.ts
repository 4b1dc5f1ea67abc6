import { readFileSync } from "node:fs";

const manifest: { version: string } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
);

/** This program's version, as package.json has it. */
export const version = manifest.version;
