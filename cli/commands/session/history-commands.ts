import type { Message } from "../../../shared/protocol/messages.ts";
import { moment } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { Failure } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { transcript } from "../../chat/transcript-view.ts";

/** Maximum bytes of messages in one page. */
const pageBytes = 4_000_000;

export const showHistory: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const sessionKey = args[0] ?? (await context.settings()).sessionKey;
  const history = await gateway.request("session.history", { sessionKey });
  const { currentSessionId, previous } = history;
  const ended = previous.map(({ sessionId, lastActiveAt }) =>
    lastActiveAt === undefined ? sessionId : `${sessionId}  ${moment(lastActiveAt)}`,
  );
  const lines = [...ended, `${currentSessionId || "(no messages yet)"}  (current)`];
  context.print(history, lines.join("\n"));
};

/**
 * Prints a conversation page by page: as text, or with --json one message per line, the format of an archive.
 */
export const printTranscript: Action = async (context, { args, options }) => {
  const sessionId = args[0] ?? "";
  // Without --session and --agent, use the default session, which may contain the live conversation.
  const agentId = text(options.agent);
  const sessionKey =
    text(options.session) ?? (agentId === undefined ? (await context.settings()).sessionKey : undefined);
  const where = { sessionId, sessionKey, agentId };
  let count = 0;
  for await (const message of readTranscript(context, where)) {
    context.print(message, `${count > 0 ? "\n" : ""}${transcript(message)}`);
    count += 1;
  }
  if (count === 0) context.note(`${sessionId}: no messages`);
};

async function* readTranscript(
  context: Context,
  where: { sessionId: string; sessionKey?: string; agentId?: string },
): AsyncGenerator<Message> {
  const gateway = await context.gateway();
  let begun = "";
  let next: string | undefined;
  do {
    const page = await gateway.request("session.transcript", { ...where, next, maxBytes: pageBytes });
    yield* page.messages;
    if (page.piece) begun += page.piece.text;
    if (page.piece?.isLast) {
      yield JSON.parse(begun) as Message;
      begun = "";
    }
    // Prevent an endless loop when the gateway returns the same page again.
    if (page.next !== undefined && page.next === next)
      throw new Failure("internal", "the gateway returned the same page twice; run the command again");
    next = page.next;
  } while (next !== undefined);
}
