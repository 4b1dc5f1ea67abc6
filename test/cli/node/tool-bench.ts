import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { FileQueues } from "../../../cli/node/files/node-files.ts";
import type { ShellSession } from "../../../cli/node/shell/shell.ts";
import { ShellSessions } from "../../../cli/node/shell/shell-sessions.ts";
import { nodeTools } from "../../../cli/node/tools/offered.ts";
import { withEmptyHome } from "./processes.ts";

/** The tools of a node over a temporary workspace and an empty home, new for each test of the file that calls `toolBench`. */
export interface ToolBench {
  workspace: string;
  sessions: ShellSessions;
  /** The background commands that have ended, with the calls that started them. */
  ended: { session: ShellSession; callId: string }[];
  call(tool: string, args: unknown, callId?: string): Promise<Record<string, unknown>>;
  /** Writes a file of the workspace and returns its absolute path. */
  put(path: string, content: string | Buffer): string;
}

export function toolBench(): ToolBench {
  withEmptyHome();
  let files = new FileQueues();
  const bench: ToolBench = {
    workspace: "",
    sessions: new ShellSessions(),
    ended: [],
    call: async (name, args, callId = "call_1") => {
      const tool = nodeTools.find((candidate) => candidate.definition.name === name);
      if (tool === undefined) throw new Error(`no tool ${name}`);
      const { workspace, sessions } = bench;
      const { signal } = new AbortController();
      return (await tool.run(args, { workspace, sessions, files, callId, signal })) as Record<
        string,
        unknown
      >;
    },
    put: (path, content) => {
      const absolute = join(bench.workspace, path);
      mkdirSync(dirname(absolute), { recursive: true });
      writeFileSync(absolute, content);
      return absolute;
    },
  };
  beforeEach(() => {
    files = new FileQueues();
    bench.workspace = mkdtempSync(join(tmpdir(), "gsv-node-"));
    bench.ended = [];
    bench.sessions = new ShellSessions((session, callId) => {
      void session.ended.then(() => bench.ended.push({ session, callId }));
    });
  });
  afterEach(async () => {
    await bench.sessions.stop();
    rmSync(bench.workspace, { recursive: true, force: true });
  });
  return bench;
}
