import * as v from "valibot";
import { count, idField, sessionKeyField } from "./schemas.ts";

/** The params of `session.search`: docs/reference/protocol-extensions.md, "Search". */
export const searchParams = v.object({
  query: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(2000)),
  agentId: v.optional(idField),
  sessionKey: v.optional(sessionKeyField),
  limit: v.optional(count(1, 500), 10),
  maxChars: v.optional(count(20, 4000), 200),
});

/** A message that answers a search. */
export interface SearchHit {
  sessionKey: string;
  sessionId: string;
  /** The message's number in its conversation. */
  message: number;
  /** Epoch ms. */
  at: number;
  role: "user" | "assistant" | "tool";
  /** The kind of its session; of one in which others than the owner write `from a {kind}`. */
  source: string;
  /** The part of the message that fits best; `…` stands for what is left out. */
  text: string;
  truncated: boolean;
  /** The best hit has the highest; 0 when no word was found, but the text as it is. */
  score: number;
}

export interface SearchResult {
  agentId: string;
  hits: SearchHit[];
  count: number;
  /** Archives that could not be looked into yet: the same search again goes on with them. */
  waiting: number;
}
