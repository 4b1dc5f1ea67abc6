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

/** A message that matches a search. */
export interface SearchHit {
  sessionKey: string;
  sessionId: string;
  /** The message's number in its conversation. */
  message: number;
  /** Epoch ms. */
  at: number;
  role: "user" | "assistant" | "tool";
  /** The kind of its session; `from a {kind}` for a session in which others than the owner write. */
  source: string;
  /** The part of the message that matches best; `…` marks omissions. */
  text: string;
  truncated: boolean;
  /** Higher is better; 0 when only the exact text was found, and none of its words. */
  score: number;
}

export interface SearchResult {
  agentId: string;
  hits: SearchHit[];
  count: number;
  /** Archives that were not searched yet; repeat the search to include more of them. */
  waiting: number;
}
