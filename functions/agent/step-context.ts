import type { ConnectedPeers } from "./context/connected-peers.ts";

/**
 * What one step of a session leaves for the next step of the same invocation. It is never written down: after a crash
 * the next invocation reads anew.
 */
export interface StepContext {
  /** Connected peers, read while the lease was taken. The first step that needs peers takes them. */
  prefetched?: ConnectedPeers;
  /**
   * Connection ids of the clients for the next broadcast, read while the reply of the model is committed. Resolves once
   * all of the reply's text is on its way to them. The next broadcast takes them.
   */
  listeners?: Promise<string[]>;
  /** Name of the step (`stepName`) whose calls this invocation has sent out and run. */
  dispatchedStep?: string;
}
