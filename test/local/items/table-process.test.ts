import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openDurableStore } from "../../../local/items/disk/durable-store.ts";
import { StoreLockedError } from "../../../local/items/store-errors.ts";
import { bundleProgram } from "../../support/run/bundle-program.ts";

let program: string;
let dir: string;
let writer: ReturnType<typeof startWriter>;

beforeAll(async () => {
  program = await bundleProgram(new URL("full-disk-writer.ts", import.meta.url));
});

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "gsv-writer-"));
  writer = startWriter();
  expect(await writer.said()).toEqual({ ready: true });
});

afterEach(async () => {
  await writer.kill();
  await rm(dir, { recursive: true });
});

/** Another process with the table open. */
function startWriter() {
  const child = spawn(process.execPath, [program, dir], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    goOn: () => child.stdin.write("\n"),
    said: async () => JSON.parse((await lines.next()).value as string) as Record<string, unknown>,
    /** Limits the size of files that the process writes, in bytes. */
    limitFiles: (size: string) => execFileSync("prlimit", [`--fsize=${size}:`, "--pid", String(child.pid)]),
    pid: child.pid,
    async kill() {
      if (child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

describe("another process", () => {
  it("has the folder for itself until it is killed", async () => {
    const refused = await openDurableStore({ dir }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StoreLockedError);
    expect(String(refused)).toBe(`StoreLockedError: ${dir} is in use by the process ${writer.pid}`);
    await writer.kill();
    await (await openDurableStore({ dir })).close();
  });

  it("that finds no room on the disk refuses the write with one line, and goes on when there is room", async () => {
    writer.limitFiles("100000");
    writer.goOn();
    const refusal = await writer.said();
    expect(refusal).toEqual({
      written: 19,
      error: `DiskFullError: cannot write ${join(dir, "log-1")}: the disk is full`,
      isSeen: false,
    });
    writer.limitFiles("unlimited");
    writer.goOn();
    expect(await writer.said()).toEqual({ written: 29 });
    await writer.kill();
    const store = await openDurableStore({ dir });
    expect([...store.all()].map(({ sk }) => Number(sk)).sort((a, b) => a - b)).toEqual([...Array(29).keys()]);
    await store.close();
  });
});
