import type { Finding } from "../../cli/commands/doctor/finding.ts";
import type { Prices } from "../bench/deployed/prices.ts";

/** A gateway and its scripted model. */
export interface Deployed {
  /** The WebSocket API's address. */
  url: string;
  /** The webhook function's address, without a slash at its end. */
  webhook: string;
  /** A token with the scopes client, node and admin. */
  token: string;
  /** An address for OpenAI's API, which ends in `/v1`, and its key. */
  model: { url: string; key: string };
  /** The answer of the default model at the end of the deployment. */
  firstAnswer?: { ms: number; dollars?: number; error?: string };
}

/** Billed amounts by the name of their price: for example requests, GB-seconds, write units. */
export type Counts = Partial<Record<keyof Prices, number>>;

export interface Counted {
  counts: Counts;
  /** What is billed but was not counted. */
  notMeasured: string[];
}

export interface PriceList {
  prices: Prices;
  /** The prices that AWS's price list named; the others are those of `test/bench/deployed/prices.ts`. */
  listed: (keyof Prices)[];
}

/** The timer's work since the deployment. */
export interface Watched {
  /** Sessions that each sweep found overdue. */
  overdue: number[];
  /** States of the stage's alarms; undefined where there are none. */
  alarms?: string[];
}

/** Where a run deploys: an AWS account, or the emulators. */
export interface Place {
  /** For people. */
  name: string;
  /** How long the idle node stays connected, at least. Milliseconds. */
  idleMs: number;
  /** Names of what exists of the stage. A run refuses to begin when there is anything. */
  existing(): Promise<string[]>;
  /** Checks the account; undefined where there is none. */
  preflight?(): Promise<Finding[]>;
  deploy(): Promise<Deployed>;
  /** Resolves when a sweep has run. */
  watched(): Promise<Watched>;
  /** What the run has used until now. */
  count(): Promise<Counted>;
  prices(): Promise<PriceList>;
  /** Deletes what exists of the stage, also after a deployment that failed halfway. */
  destroy(): Promise<void>;
  /** The commands that do the same. */
  destroyCommands: string[];
}
