import fs, { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openJournal } from "../../../../cli/node/shell/command-journal.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gsv-journal-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Above the max process id: no process has it. */
let lastPid = 2 ** 30;
/** The journal of the node's next process. The earlier ones are dead. */
const journal = (files = fs) =>
  openJournal(folder, { url: "wss://gateway", nodeId: "laptop" }, { pid: ++lastPid, files });
const end = { eventId: "e", sessionId: "s", event: "finished", exitCode: 0 } as const;
const failing = (...names: (keyof typeof fs)[]) => {
  const fail = () => {
    throw new Error("no space left on device");
  };
  return { ...fs, ...Object.fromEntries(names.map((name) => [name, fail])) };
};

it("a report survives when the node could not write it to a full disk and was killed", () => {
  journal().keep(end);
  expect(journal(failing("writeFileSync")).left).toEqual([end]);
  expect(journal().left).toEqual([end]);
});

it("a node whose folder is read-only starts, and reports its commands", () => {
  journal().keep(end);
  expect(journal(failing("mkdirSync", "writeFileSync", "renameSync", "rmSync")).left).toEqual([end]);
});
