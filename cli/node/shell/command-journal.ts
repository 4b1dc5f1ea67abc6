import { createHash } from "node:crypto";
import fs from "node:fs";
import { join } from "node:path";
import type { ExecEvent } from "../../../shared/protocol/schemas.ts";

/** The report on a command whose node was killed. */
const lost =
  "The node was killed before this command ended. Its outcome is unknown; it may still be running.";

/**
 * A file of the background commands whose end the gateway has not acknowledged yet. After a node was killed, the next
 * process of the node reports them. Failed writes are ignored: a node works without its journal.
 */
export interface CommandJournal {
  /** Reports left by earlier processes of this node. Send each until the gateway accepts it. */
  left: ExecEvent[];
  /** Stores the report that a command runs, or how it ended, until `remove`. */
  keep(event: ExecEvent): void;
  /** Removes a command, because the gateway has accepted the report of its end. */
  remove(sessionId: string): void;
}

/** The process that writes a journal, and its access to the file system. */
export interface JournalProcess {
  pid: number;
  files: Pick<
    typeof fs,
    "mkdirSync" | "readdirSync" | "readFileSync" | "renameSync" | "rmSync" | "writeFileSync"
  >;
}

/** A journal that stores nothing. */
export const noJournal: CommandJournal = { left: [], keep() {}, remove() {} };

/**
 * Opens the journal of this process, and moves the entries of the node's dead processes into it.
 * @param folder created when missing
 * @param node identifies the node: its gateway's url, and its id
 */
export function openJournal(
  folder: string,
  node: { url: string; nodeId: string },
  owner: JournalProcess = { pid: process.pid, files: fs },
): CommandJournal {
  const { pid, files } = owner;
  const digest = createHash("sha256")
    .update(JSON.stringify([node.url, node.nodeId]))
    .digest("hex");
  const prefix = `commands-${digest.slice(0, 16)}-`;
  const file = join(folder, `${prefix}${pid}.json`);
  const events = new Map<string, ExecEvent>();
  const old = filesOf(owner, folder, prefix);
  const superseded = old.filter((name) => join(folder, name) !== file);
  /** Writes the file, then removes the superseded files whose events it now contains. */
  const save = (): void => {
    try {
      files.mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (events.size === 0) files.rmSync(file, { force: true });
      else {
        files.writeFileSync(`${file}.new`, JSON.stringify([...events.values()]), { mode: 0o600 });
        files.renameSync(`${file}.new`, file);
      }
      for (const name of superseded.splice(0)) files.rmSync(join(folder, name), { force: true });
    } catch {
      // The disk is full or read-only.
    }
  };
  for (const event of old.flatMap((name) => readEvents(owner, join(folder, name)))) {
    const isOver = event.event !== "started";
    events.set(event.sessionId, isOver ? event : { ...event, event: "failed", outputTail: lost });
  }
  save();
  return {
    left: [...events.values()],
    keep(event) {
      events.set(event.sessionId, event);
      save();
    },
    remove(sessionId) {
      if (events.delete(sessionId)) save();
    },
  };
}

/** The journals of this node's dead processes, including one that had this process's id. */
function filesOf({ pid: own, files }: JournalProcess, folder: string, prefix: string): string[] {
  try {
    return files.readdirSync(folder).filter((name) => {
      const pid = name.startsWith(prefix) && /^(\d+)\.json$/.exec(name.slice(prefix.length))?.[1];
      return pid && (Number(pid) === own || !isAlive(Number(pid)));
    });
  } catch {
    return [];
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function readEvents({ files }: JournalProcess, file: string): ExecEvent[] {
  try {
    const events: unknown = JSON.parse(files.readFileSync(file, "utf8"));
    return Array.isArray(events) ? (events as ExecEvent[]) : [];
  } catch {
    return [];
  }
}
