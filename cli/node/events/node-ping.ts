import type { NodeParts } from "./node-parts.ts";

/** Answers `node.ping`: another process asks for this node's id, and gets it when this one is gone. */
export function answerPing({ connection }: NodeParts): void {
  connection.request("node.pong").catch(() => {
    // After a lost connection the answer is not needed.
  });
}
