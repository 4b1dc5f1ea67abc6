import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";

/**
 * Gives the tests of a file an empty home folder. Otherwise login shells would read the profile of the user who runs the
 * tests, and a killed shell could leave that user's locks behind.
 */
export function withEmptyHome(): void {
  const home = process.env.HOME;
  beforeAll(() => {
    process.env.HOME = mkdtempSync(join(tmpdir(), "gsv-home-"));
  });
  afterAll(() => {
    rmSync(process.env.HOME as string, { recursive: true, force: true });
    process.env.HOME = home;
  });
}

/** The running processes whose command line contains `marker`. */
export function processesNamed(marker: string): string[] {
  return execFileSync("ps", ["-eo", "pid,stat,args"], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(marker) && !/^\s*\d+\s+Z/.test(line));
}

/** A sleep with a unique duration, so that it can be found among the processes. */
export function uniqueSleep(): string {
  return `sleep ${1000 + randomBytes(4).readUInt32BE() / 1e5}`;
}
