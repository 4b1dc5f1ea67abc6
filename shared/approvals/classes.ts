import type { ServerClass } from "../protocol/mcp.ts";
import { isPlainRead, plainPage } from "./shell-commands.ts";

/** What a tool's call can do. */
export type ToolClass = "read" | "write" | "exec" | "web" | "message" | "admin";

/** A tool call, as far as a decision depends on it. */
export interface JudgedCall {
  /** The name by which the model called it. */
  tool: string;
  /** The node that would run it; absent for the gateway's own tools. */
  node?: string;
  /** The tool's name on its node; the same as `tool` for the gateway's own tools. */
  bareName: string;
  args: Readonly<Record<string, unknown>>;
  /** Of a tool of an MCP server: what its settings and its annotations say. */
  remoteClass?: ServerClass;
  /** Whether a person or a page of the conversation named the address that it opens. */
  isQuoted?: boolean;
}

/** The gateway's own tools; `test/approvals/classes.test.ts` finds a missing one. A tool with actions has a class for each. */
const ofGateway: Readonly<Record<string, ToolClass | Readonly<Record<string, ToolClass>>>> = {
  gsv__ReadFile: "read",
  gsv__WriteFile: "write",
  gsv__EditFile: "write",
  gsv__DeleteFile: "write",
  gsv__ConfigGet: "read",
  gsv__LogsGet: "read",
  gsv__Message: "message",
  gsv__Cron: { status: "read", list: "read", runs: "read" },
  gsv__Transfer: "message",
  gsv__SessionsList: "read",
  gsv__SessionSend: "message",
  gsv__activate: "read",
  gsv__deactivate: "read",
  gsv__pin: "read",
  gsv__recall: "read",
  gsv__session_logs: "read",
  gsv__who_am_i: "read",
  gsv__what_do_i_know: "read",
  gsv__my_stats: "read",
  gsv__memory: { recall: "read", remember: "write", forget: "write" },
  gsv__memory_history: "read",
  gsv__memory_checkpoint: "write",
  gsv__WebFetch: "web",
  gsv__WebSearch: "web",
};

/** The classes of an action that its tool does not list. */
const otherActions: Readonly<Record<string, ToolClass>> = { gsv__Cron: "message", gsv__memory: "write" };

const ofNodes: Readonly<Record<string, ToolClass>> = {
  Read: "read",
  Grep: "read",
  Glob: "read",
  Write: "write",
  Edit: "write",
};

/** The class of a call. A tool that nobody has classified may do anything, as a command may. */
export function classOf({ node, bareName, args, remoteClass }: JudgedCall): ToolClass {
  if (remoteClass !== undefined) return remoteClass;
  if (node === undefined) {
    const own = Object.hasOwn(ofGateway, bareName) ? ofGateway[bareName] : undefined;
    if (typeof own === "string" || own === undefined) return own ?? "exec";
    const action = String(args.action);
    return (Object.hasOwn(own, action) ? own[action] : otherActions[bareName]) ?? "exec";
  }
  if (bareName === "Process")
    return ["list", "poll", "log", "kill"].includes(String(args.action)) ? "read" : "exec";
  if (bareName === "Bash") {
    const command = String(args.command);
    if (isPlainRead(command)) return "read";
    return plainPage(command) === undefined ? "exec" : "web";
  }
  return (Object.hasOwn(ofNodes, bareName) ? ofNodes[bareName] : undefined) ?? "exec";
}
