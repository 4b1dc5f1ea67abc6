import { createHash } from "node:crypto";
import fs from "node:fs";
import { join } from "node:path";
import type { ExecEvent } from "../../../shared/protocol/schemas.ts";

/** What is reported of a command whose node was killed. */
const lost =
  "The node was killed before this command ended. What became of the command is not known; it may still run.";

/**
 * The background commands whose end the gateway does not know yet, in a file. A node that starts after one that was killed
 * reports what that one could not. Writes that fail are ignored: without its file a node works all the same.
 */
export interface CommandJournal {
  /** Reports of nodes that are no more, each of which is to be sent until it is accepted. */
  left: ExecEvent[];
  /** Keeps the report that a command runs, or how it ended, until it is removed. */
  keep(event: ExecEvent): void;
  /** The gateway has taken the report of this command's end. */
  remove(sessionId: string): void;
}

/** The process that keeps a journal, and how it reaches its files. */
export interface JournalProcess {
  pid: number;
  files: Pick<
    typeof fs,
    "mkdirSync" | "readdirSync" | "readFileSync" | "renameSync" | "rmSync" | "writeFileSync"
  >;
}

/** A journal for a node that keeps none. */
export const noJournal: CommandJournal = { left: [], keep() {}, remove() {} };

/**
 * Opens the journal of a node, and takes over those of its processes that are no more.
 * @param folder made when it does not exist
 * @param node what names the node: its gateway's url, and its id
 * @param owner this process by default
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
  /** Writes the file, and only then removes those whose events it holds. */
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
      // A full or read-only disk.
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

/** The journals of this node's processes that are no more, or had this process's id before. */
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
