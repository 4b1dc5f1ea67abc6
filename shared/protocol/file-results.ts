/** A folder of a workspace. `files` are whole workspace paths; `directories` too, each with a trailing `/`. Both sorted. */
export interface Listing {
  path: string;
  files: string[];
  directories: string[];
}

/** A text file of a workspace. */
export interface FileContent {
  path: string;
  content: string;
  /** Bytes. */
  size: number;
  /** ISO 8601, UTC. */
  lastModified: string;
  /** Whose words it may contain, besides the owner's: `web:{host}`, `machine:{node}`, `guest:{channel}/{sender}`, … */
  origins?: string[];
  /** For a file under `skills/`: its key in the bucket, and whether it is the agent's copy or the shared one. */
  resolvedPath?: string;
  resolvedSource?: "agent" | "global";
}
