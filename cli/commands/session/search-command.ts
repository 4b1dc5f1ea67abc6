import type { SearchHit, SearchResult } from "../../../shared/protocol/search.ts";
import { moment } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { text, wholeNumber } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";

const writers = { user: "you", assistant: "agent", tool: "tool result" };

/** Searches messages. Repeats the search while archives are still being indexed. */
export const searchSessions: Action = async (context, { args, options }) => {
  const limit = wholeNumber("--limit", options.limit, 1, 500);
  const maxChars = wholeNumber("--max-chars", options.maxChars, 20, 4000);
  const query = args.join(" ");
  const [agentId, sessionKey] = [text(options.agent), text(options.session)];
  const found = await searchAll(context, { query, agentId, sessionKey, limit, maxChars });
  const none = `no messages match ${query}`;
  context.print(found, found.hits.length === 0 ? none : found.hits.map(shown).join("\n\n"));
  if (found.waiting > 0)
    context.note(`${found.waiting} archives could not be searched; see the gateway's log for the reason`);
};

async function searchAll(
  context: Context,
  params: { query: string; agentId?: string; sessionKey?: string; limit?: number; maxChars?: number },
): Promise<SearchResult> {
  const gateway = await context.gateway();
  let found = await gateway.request("session.search", params);
  while (found.waiting > 0) {
    context.note(`indexing ${found.waiting} archives; this happens once`);
    const next = await gateway.request("session.search", params);
    if (next.waiting >= found.waiting) return next;
    found = next;
  }
  return found;
}

function shown({ at, role, source, sessionKey, sessionId, message, text }: SearchHit): string {
  const place = `${moment(at)}  ${writers[role]}${source.startsWith("from a") ? `, ${source}` : ""}  ${sessionKey}`;
  const body = text.split("\n").map((line) => `  ${line}`);
  return [`${place}  ${sessionId} message ${message}`, ...body].join("\n");
}
