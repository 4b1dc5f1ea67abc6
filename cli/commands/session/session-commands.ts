import { randomUUID } from "node:crypto";
import { code } from "../../../shared/protocol/errors.ts";
import type { TokenCount } from "../../../shared/protocol/results.ts";
import { costText } from "../../../shared/session/commands/cost-command.ts";
import { columns, moment, pairs } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { Failure, usage } from "../../app/failure.ts";
import { type Invocation, wholeNumber } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { confirm } from "../../app/questions.ts";
import { didYouMean } from "../../app/suggestion.ts";
import { transcript } from "../../chat/transcript-view.ts";

export const listSessions: Action = async (context, { options }) => {
  const limit = wholeNumber("--limit", options.limit, 1, 1000);
  const gateway = await context.gateway();
  const list = await gateway.request("sessions.list", { limit });
  const rows = list.sessions.map((session) => [
    session.sessionKey,
    moment(session.lastActiveAt),
    moment(session.createdAt),
    session.label ?? "",
  ]);
  const table = columns(["SESSION", "LAST ACTIVE", "CREATED", "LABEL"], rows);
  context.print(list, rows.length > 0 ? table : "no sessions yet; the first message creates one");
};

export const getSession: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const session = await gateway.request("session.get", { sessionKey: await keyOf(context, args[0]) });
  await checkExists(context, session);
  const { model, thinkingLevel, systemPrompt, maxTokens } = session.settings;
  const { mode, atHour, idleMinutes } = session.resetPolicy;
  const shown = pairs([
    ["session", session.sessionKey],
    ["id", session.private ? `${session.sessionId} (private: not archived or searched)` : session.sessionId],
    ["label", session.label],
    ["created", moment(session.createdAt)],
    ["updated", moment(session.updatedAt)],
    ["messages", String(session.messageCount)],
    ["tokens", tokensText(session.tokens)],
    ["model", model ? `${model.provider}/${model.id}` : "(the gateway's)"],
    ["thinking", thinkingLevel ?? undefined],
    ["max tokens", maxTokens ? String(maxTokens) : undefined],
    ["prompt", systemPrompt ?? undefined],
    [
      "resets",
      [mode, atHour !== undefined && `at ${atHour}:00`, idleMinutes && `after ${idleMinutes} min`]
        .filter(Boolean)
        .join(" "),
    ],
    ["last reset", session.lastResetAt ? moment(session.lastResetAt) : undefined],
    ["earlier ids", session.previousSessionIds.join(", ") || undefined],
  ]);
  context.print(session, shown);
};

export const showStats: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const stats = await gateway.request("session.stats", { sessionKey: await keyOf(context, args[0]) });
  await checkExists(context, stats);
  const shown = pairs([
    ["session", stats.sessionKey],
    ["messages", String(stats.messageCount)],
    ["tokens", tokensText(stats.tokens)],
    ["working", stats.isProcessing ? "yes" : "no"],
    ["waiting", `${stats.queueSize} message${stats.queueSize === 1 ? "" : "s"}`],
    ["created", moment(stats.createdAt)],
    ["updated", moment(stats.updatedAt)],
  ]);
  context.print(stats, shown);
};

export const previewSession: Action = async (context, { args, options }) => {
  const limit = wholeNumber("--limit", options.limit, 1, 1000);
  const gateway = await context.gateway();
  const preview = await gateway.request("session.preview", {
    sessionKey: await keyOf(context, args[0]),
    limit,
  });
  await checkExists(context, preview);
  const { sessionKey, messageCount, messages } = preview;
  const hidden = messageCount - messages.length;
  const head = `${sessionKey}: ${messageCount} message${messageCount === 1 ? "" : "s"}${hidden > 0 ? `, the newest ${messages.length}` : ""}`;
  context.print(preview, [head, ...messages.map(transcript)].join("\n\n"));
};

export const forkSession: Action = async (context, { args, options }) => {
  const seq = wholeNumber("--before", options.before, 1, Number.MAX_SAFE_INTEGER);
  const gateway = await context.gateway();
  const sessionKey = await keyOf(context, args[0]);
  const fork = await gateway.request("session.fork", { sessionKey, seq, forkId: randomUUID() });
  context.print(fork, `${fork.sessionKey} has ${fork.messages} message${fork.messages === 1 ? "" : "s"}`);
};

/** Asks before messages go. @returns false when the answer is no */
async function isAgreed(context: Context, { options }: Invocation, question: string): Promise<boolean> {
  if (options.yes === true) return true;
  if (!context.terminal.stdin.isTTY)
    throw usage("no terminal to ask for confirmation; pass --yes to clear the messages");
  if (await confirm(context.terminal, question)) return true;
  context.note("nothing was changed");
  return false;
}

export const resetSession: Action = async (context, invocation: Invocation) => {
  const sessionKey = await keyOf(context, invocation.args[0]);
  if (!(await isAgreed(context, invocation, `Clear the messages of ${sessionKey}?`))) return;
  const gateway = await context.gateway();
  const isPrivate = invocation.options.private === true;
  const request = { sessionKey, ...(isPrivate ? { private: true } : {}) };
  const result = await gateway.request("session.reset", request, readingTimeoutMs);
  const archive = result.archivedTo ? `\narchive: ${result.archivedTo}` : "";
  context.print(
    result,
    `${result.sessionKey} starts over as ${result.newSessionId}${isPrivate ? " (private)" : ""}${archive}`,
  );
};

export const deleteSession: Action = async (context, invocation: Invocation) => {
  const [key, sessionId] = invocation.args;
  const sessionKey = await keyOf(context, key);
  const one = sessionId === undefined ? {} : { sessionId };
  const what =
    sessionId === undefined ? `${sessionKey} and all its conversations` : `the conversation ${sessionId}`;
  if (!(await isAgreed(context, invocation, `Delete ${what} for good?`))) return;
  const gateway = await context.gateway();
  const result = await gateway.request("session.delete", { sessionKey, ...one }, readingTimeoutMs);
  const { sessionIds, objects } = result;
  const count = `${sessionIds.length} conversation${sessionIds.length === 1 ? "" : "s"}`;
  context.print(
    result,
    [
      `${result.sessionKey}: deleted ${count} (${objects} object${objects === 1 ? "" : "s"} of the bucket)`,
      "memories made of it stay: `gsv memory list`, `gsv memory forget ID --everywhere`",
    ].join("\n"),
  );
};

/**
 * Timeout of compact and reset, in ms. The number of their model calls grows with the length of the
 * conversation.
 */
const readingTimeoutMs = 900_000;

export const compactSession: Action = async (context, { args, options }) => {
  const keepMessages = wholeNumber("--keep", options.keep, 1, 999_999);
  const gateway = await context.gateway();
  const sessionKey = await keyOf(context, args[0]);
  const result = await gateway.request("session.compact", { sessionKey, keepMessages }, readingTimeoutMs);
  const { trimmedMessages, keptMessages, archivedTo } = result;
  const archive = archivedTo ? `\narchive: ${archivedTo}` : "";
  context.print(
    result,
    `${sessionKey}: kept ${keptMessages} messages, archived ${trimmedMessages}${archive}`,
  );
};

/**
 * Checks the gateway's answer about a session: one that does not exist has no id.
 * @throws Failure (404) when the session does not exist
 */
async function checkExists(
  context: Context,
  { sessionKey, sessionId }: { sessionKey: string; sessionId: string },
): Promise<void> {
  if (sessionId !== "") return;
  const gateway = await context.gateway();
  const { sessions } = await gateway.request("sessions.list", { limit: 1000 });
  const meant = didYouMean(
    sessionKey,
    sessions.map((session) => session.sessionKey),
  );
  throw new Failure(
    code.notFound,
    `there is no session ${sessionKey}${meant}; \`gsv session list\` shows the sessions, and the first message creates one`,
  );
}

/** The session key of a command: the given one, else the default. */
export async function keyOf(context: Context, given: string | undefined): Promise<string> {
  return given ?? (await context.settings()).sessionKey;
}

function tokensText({ input, output, total }: TokenCount): string {
  return `${total} (${input} in, ${output} out)`;
}

export const showCost: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const cost = await gateway.request("session.cost", { sessionKey: await keyOf(context, args[0]) });
  context.print(cost, costText(cost));
};
