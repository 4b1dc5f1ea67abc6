/** What model calls took. Tokens as their providers report them; `input` without those read from a cache or written to it. */
export interface Spending {
  calls: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** US dollars of the calls whose price is known. */
  dollars: number;
  /** Number of calls whose price is not known. */
  unpriced: number;
}

/** What a session's model calls took. */
export interface CostResult {
  sessionKey: string;
  /** The last turn that the model has answered; absent before the first. */
  turn?: Spending & { runId: string };
  /** The conversation since its last reset. */
  session: Spending;
  /** Today in the user's timezone, resets included: of this session, and of all sessions where a client asks. */
  today: { date: string; session: Spending; all?: Spending };
}
