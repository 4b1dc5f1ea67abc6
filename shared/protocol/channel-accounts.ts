/** Shapes of channel accounts and of pairing requests in the results of `channel.*` and `pair.*`. */

/** The kinds of conversation on a messaging platform. */
export const peerKinds = ["dm", "group", "channel", "thread"] as const;
export type PeerKind = (typeof peerKinds)[number];

/**
 * The writer's role. `owner`: has all rights over the agent. `guest`: may only talk to it (docs/security.md, "Who may do
 * what").
 */
export type Role = "owner" | "guest";

/** A person or room on a messaging platform. */
export interface Peer {
  /** A `PeerKind` in wire messages. A session key may contain any other word. */
  kind: string;
  id: string;
  name?: string;
}

/** An account on a messaging platform. Times are epoch ms. */
export interface ChannelEntry {
  channel: string;
  accountId: string;
  /** 0 when unknown, and while the account's bridge is not connected. */
  connectedAt: number;
  lastMessageAt?: number;
  stopped: boolean;
  /** True for a bridge's account; absent for an account of the gateway's own. */
  bridge?: true;
}

/** The state of an account in `channel.status`. Times are epoch ms. */
export interface AccountStatus {
  accountId: string;
  /**
   * The account receives messages: it is not stopped, and the platform does not report its webhook as missing.
   */
  connected: boolean;
  /** The platform accepts the credentials. */
  authenticated: boolean;
  /** The current error. */
  error?: string;
  lastActivity?: number;
  extra: {
    stopped: boolean;
    identity?: string;
    webhookUrl?: string;
    /** Number of messages queued for the account's bridge; absent for an account of the gateway's own. */
    waiting?: number;
    /** The last webhook error reported by the platform. */
    webhookError?: string;
    webhookErrorAt?: number;
    /** The last delivery failure. */
    lastError?: string;
    lastErrorAt?: number;
  };
}

/**
 * Whether the webhook is registered at the platform. `todo`: steps for the operator, when the platform has no
 * API for it.
 */
export type Registration =
  | { status: "registered" }
  | { status: "manual"; todo: string }
  | { status: "failed"; reason: string };

/** The result of starting an account of the gateway's own. */
export interface StartedAccount {
  /** The agent's display name on the platform. */
  identity: string;
  webhookUrl: string;
  registration: Registration;
}

/** A sender with an open pairing request. Times are epoch ms. */
export interface PairEntry {
  channel: string;
  accountId: string;
  senderId: string;
  senderName?: string;
  requestedAt: number;
  expiresAt: number;
  /** The first characters of the held message; absent when it was too large to be held. */
  message?: string;
  /** The same text under GSV's name. */
  firstMessage?: string;
}
