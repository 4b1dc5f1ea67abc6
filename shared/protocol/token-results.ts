import type { Scope } from "./methods.ts";

/** An access token without its secret. Times are epoch ms. */
export interface TokenEntry {
  id: string;
  name: string;
  scopes: Scope[];
  createdAt: number;
  lastUsedAt?: number;
  /** When it expires. Absent: never. */
  until?: number;
  /** The only channel and account that a bridge's token is valid for. */
  channel?: string;
  accountId?: string;
  /** A device got it for a code; each use renews it. */
  device?: true;
}

/** A code that one device may exchange for a token. `expiresAt` in epoch ms. */
export interface PairingCode {
  code: string;
  /** The same in 8 characters, for typing. */
  short?: string;
  scopes: Scope[];
  expiresAt: number;
}

/** A token and the number of clients, nodes and channels that are connected with it. */
export type ListedToken = TokenEntry & { connections: number };

/** A token with the scope admin that does not expire, and the ids of the nodes that are connected with it. */
export type StandingToken = TokenEntry & { nodes: string[] };

/** A program that asks to be let in (`docs/mcp.md`). `until` in epoch ms. */
export interface ProgramAsking {
  /** As the program calls itself. */
  name: string;
  clientId: string;
  /** Where its authorization code is sent. */
  redirectUri: string;
  scopes: Scope[];
  until: number;
  approved: boolean;
}

export interface TokenResults {
  "program.get": ProgramAsking;
  "program.approve": ProgramAsking;
  "program.deny": ProgramAsking;
  "code.create": PairingCode;
  /** `current`: the caller's own. */
  "device.list": { devices: (ListedToken & { current?: true })[] };
  "device.revoke": { revoked: true; id: string };
  "token.create": TokenEntry & { token: string };
  "token.list": { tokens: ListedToken[] };
  "token.standing": { tokens: StandingToken[] };
  "token.revoke": { revoked: true; id: string };
}
