import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findBins } from "../../../cli/node/shell/bins.ts";
import { until } from "../../support/until.ts";
import { processesNamed, uniqueSleep } from "./processes.ts";

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "gsv-bins-"));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Which of these programs a shell with this profile finds. */
function find(profile: string, bins: string[], timeoutMs = 60_000) {
  writeFileSync(join(home, ".bash_profile"), profile);
  return findBins(bins, timeoutMs, { ...process.env, HOME: home });
}

describe("which programs a node has", () => {
  it("are those that its login shell finds, no matter what the profile prints", async () => {
    writeFileSync(join(home, "brew"), "", { mode: 0o755 });
    const profile = `echo gsv-bin:nothing\nprintf 'welcome '\nPATH="$PATH:$HOME"`;
    expect(await find(profile, ["brew", "nothing-here"])).toEqual({ brew: true, "nothing-here": false });
  });

  it("are found although a process that the profile started keeps the output open", async () => {
    const sleep = uniqueSleep();
    expect(await find(`${sleep} & disown`, ["sh"])).toEqual({ sh: true });
    const left = processesNamed(sleep);
    expect(left).toHaveLength(1);
    process.kill(Number.parseInt(left[0] ?? "", 10));
  });

  it("is an error when the profile does not end in time, and no process is left running", async () => {
    const sleep = uniqueSleep();
    await expect(find(`${sleep}; true`, ["sh"], 300)).rejects.toThrow("no answer from the shell in 300 ms");
    await until(() => processesNamed(sleep).length === 0, "the group is gone");
  });

  it("is an error when the shell exits before it answers", async () => {
    await expect(find("exit 7", ["sh"])).rejects.toThrow("exited with 7 before it answered");
  });
});
