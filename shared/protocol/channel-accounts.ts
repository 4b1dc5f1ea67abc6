/**
 * Shapes of channel accounts and of people who write there, as results of `channel.*` and `pair.*` hold them.
 */

/** The kinds of conversation on a messaging platform. */
export const peerKinds = ["dm", "group", "channel", "thread"] as const;
export type PeerKind = (typeof peerKinds)[number];

/** A person or room on a messaging platform. */
export interface Peer {
  /** A `PeerKind` when it comes over the wire; a session key may hold any other word. */
  kind: string;
  id: string;
  name?: string;
}

/** An account on a messaging platform. Times are epoch ms. */
export interface ChannelEntry {
  channel: string;
  accountId: string;
  /** 0 where it is not known, and while the account's bridge is away. */
  connectedAt: number;
  lastMessageAt?: number;
  stopped: boolean;
  /** A bridge attaches for this account; absent for an account of the gateway's own. */
  bridge?: true;
}

/** The state of an account, as `channel.status` answers it. Times are epoch ms. */
export interface AccountStatus {
  accountId: string;
  /** Messages come in: the account is not stopped, and the platform knows its webhook, as far as it says. */
  connected: boolean;
  /** The platform takes its credentials. */
  authenticated: boolean;
  /** What is wrong now. */
  error?: string;
  lastActivity?: number;
  extra: {
    stopped: boolean;
    identity?: string;
    webhookUrl?: string;
    /** Messages that wait for the account's bridge; absent for an account of the gateway's own. */
    waiting?: number;
    /** The platform's last complaint about the webhook. */
    webhookError?: string;
    webhookErrorAt?: number;
    /** Why a message of the agent's was last not delivered. */
    lastError?: string;
    lastErrorAt?: number;
  };
}

/**
 * Whether a platform knows the webhook now. `todo`: what has to be done by hand, as the platform has no API
 * for it.
 */
export type Registration =
  | { status: "registered" }
  | { status: "manual"; todo: string }
  | { status: "failed"; reason: string };

/** The outcome of starting an account of the gateway's own. */
export interface StartedAccount {
  /** The agent's name on the platform, for people to read. */
  identity: string;
  webhookUrl: string;
  registration: Registration;
}

/** A sender who waits for approval. Times are epoch ms. */
export interface PairEntry {
  channel: string;
  accountId: string;
  senderId: string;
  senderName?: string;
  requestedAt: number;
  expiresAt: number;
  /** The beginning of their message; absent when it was too long to be kept. */
  message?: string;
}
