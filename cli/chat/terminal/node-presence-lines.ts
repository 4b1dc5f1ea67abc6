import type { Events } from "../../../shared/protocol/events.ts";

/** A node that reconnects within this time is not reported, in milliseconds. */
const returnMs = 5000;

/** Prints a line when a node connects or leaves, except for a quick reconnect. */
interface NodeNews {
  update(change: Events["node.changed"]): void;
  stop(): void;
}

export function createNodeNews(say: (line: string) => void, waitMs = returnMs): NodeNews {
  const leaving = new Map<string, NodeJS.Timeout>();
  return {
    update({ nodeId, connected, tools }) {
      const wasLeaving = leaving.get(nodeId);
      clearTimeout(wasLeaving);
      leaving.delete(nodeId);
      if (connected && wasLeaving === undefined) say(`${nodeId} is connected: ${toolsText(tools)}`);
      if (connected) return;
      const gone = () => {
        leaving.delete(nodeId);
        say(`${nodeId} has left; its tools are unavailable until it reconnects`);
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
