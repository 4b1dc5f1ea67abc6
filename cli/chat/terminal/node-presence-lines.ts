import type { Events } from "../../../shared/protocol/events.ts";

/** How long a node that has gone may take to come back before it is said, in milliseconds. */
const returnMs = 5000;

/** Says in one line each which nodes come and go. A node that reconnects at once is not worth a line. */
export interface NodeNews {
  take(change: Events["node.changed"]): void;
  stop(): void;
}

export function createNodeNews(say: (line: string) => void, waitMs = returnMs): NodeNews {
  const leaving = new Map<string, NodeJS.Timeout>();
  return {
    take({ nodeId, connected, tools }) {
      const wasLeaving = leaving.get(nodeId);
      clearTimeout(wasLeaving);
      leaving.delete(nodeId);
      if (connected && wasLeaving === undefined) say(`${nodeId} is connected: ${toolsText(tools)}`);
      if (connected) return;
      const gone = () => {
        leaving.delete(nodeId);
        say(`${nodeId} has left; its tools come back when it does`);
      };
      leaving.set(nodeId, setTimeout(gone, waitMs));
    },
    stop() {
      for (const timer of leaving.values()) clearTimeout(timer);
    },
  };
}

function toolsText({ length }: readonly string[]): string {
  return length === 1 ? "1 tool" : `${length} tools`;
}
