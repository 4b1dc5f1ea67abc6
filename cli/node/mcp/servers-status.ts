/** Name of the file with the servers' states in a node's folder. */
export const serversStatusName = "mcp-status.json";

export type ServerState = "starting" | "running" | "waiting" | "stopped";

/** A server as `gsv node status` shows it. */
export interface ServerStatus {
  name: string;
  state: ServerState;
  /** Number of its tools. */
  tools: number;
  /** How often it was started again. */
  restarts: number;
  pid?: number;
  /** Why it is not running, or why it ended last. */
  error?: string;
}

/** What the status file contains. */
export interface ServersStatus {
  /** Process of the node. */
  pid: number;
  file: string;
  servers: (ServerStatus | { name: string; state: "disabled" })[];
  /** Entries that are not started, and tools that are not announced, each with the reason. */
  faults: string[];
}
