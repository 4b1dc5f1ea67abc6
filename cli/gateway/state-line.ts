import type { ConnectionState } from "./connection.ts";

/** A log line about a connection's state. `gsv node status` looks for its first word. */
export function describeState(state: ConnectionState): string {
  switch (state.status) {
    case "connected":
      return `connected as ${state.hello.server.connectionId}`;
    case "waiting":
      return `disconnected: ${state.reason}; next attempt in ${state.delayMs} ms`;
    case "closed":
      // The command prints the reason after this line.
      return "closed";
    case "connecting":
      return `connecting, attempt ${state.attempt}`;
    case "idle":
      return "idle";
  }
}
