import * as v from "valibot";
import type { TokenCount } from "../../../shared/protocol/results.ts";
import { resetPolicyField, thinkingLevels } from "../../../shared/protocol/schemas.ts";
import { columns, moment, pairs } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { usage } from "../../app/failure.ts";
import type { Invocation } from "../../app/options.ts";
import { wholeNumber } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { confirm } from "../../app/questions.ts";
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
  context.print(list, rows.length > 0 ? table : "no sessions yet; the first message makes one");
};

export const getSession: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const session = await gateway.request("session.get", { sessionKey: await keyOf(context, args[0]) });
  const { model, thinkingLevel, systemPrompt, maxTokens } = session.settings;
  const { mode, atHour, idleMinutes } = session.resetPolicy;
  const shown = pairs([
    ["session", session.sessionKey],
    ["id", session.sessionId],
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
  const { sessionKey, messageCount, messages } = preview;
  const hidden = messageCount - messages.length;
  const head = `${sessionKey}: ${messageCount} message${messageCount === 1 ? "" : "s"}${hidden > 0 ? `, the newest ${messages.length}` : ""}`;
  context.print(preview, [head, ...messages.map(transcript)].join("\n\n"));
};

export const setSession: Action = async (context, invocation) => {
  const [setting = "", value = "", key] = invocation.args;
  const change = changeOf(setting, value);
  const gateway = await context.gateway();
  const sessionKey = await keyOf(context, key);
  const current = change.needsProvider ? await gateway.request("session.get", { sessionKey }) : undefined;
  const patch = change.patch(current?.settings.model?.provider);
  const result = await gateway.request("session.patch", { sessionKey, ...patch });
  context.print(result, `${sessionKey}: ${setting} is now ${value}`);
};

export const resetSession: Action = async (context, { args, options }: Invocation) => {
  const sessionKey = await keyOf(context, args[0]);
  if (options.yes !== true) {
    if (!context.terminal.stdin.isTTY) throw usage("session reset clears the messages; add --yes to do it");
    if (!(await confirm(context.terminal, `Clear the messages of ${sessionKey}?`))) {
      context.note("nothing was changed");
      return;
    }
  }
  const gateway = await context.gateway();
  const result = await gateway.request("session.reset", { sessionKey }, readingTimeoutMs);
  const archive = result.archivedTo ? `\narchive: ${result.archivedTo}` : "";
  context.print(result, `${result.sessionKey} starts over as ${result.newSessionId}${archive}`);
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

async function keyOf(context: Context, given: string | undefined): Promise<string> {
  return given ?? (await context.settings()).sessionKey;
}

function tokensText({ input, output, total }: TokenCount): string {
  return `${total} (${input} in, ${output} out)`;
}

interface Change {
  needsProvider?: boolean;
  patch(provider: string | undefined): Record<string, unknown>;
}

/** The change that `session set` requests. @throws Failure (usage) that states the valid values */
function changeOf(setting: string, value: string): Change {
  const settings = (change: Record<string, unknown>): Change => ({ patch: () => ({ settings: change }) });
  const clear = value === "default";
  switch (setting) {
    case "model":
      return clear ? settings({ model: null }) : modelChange(value);
    case "thinking":
      if (!clear && !thinkingLevels.includes(value as never))
        throw usage(`thinking is one of ${thinkingLevels.join(", ")} or default, not ${value}`);
      return settings({ thinkingLevel: clear ? null : value });
    case "prompt":
      return settings({ systemPrompt: clear ? null : value });
    case "max-tokens":
      return settings({ maxTokens: clear ? null : wholeNumber("max-tokens", value, 1, 1_000_000) });
    case "label":
      return { patch: () => ({ label: clear ? null : value }) };
    case "reset":
      return { patch: () => ({ resetPolicy: clear ? null : resetPolicy(value) }) };
    default:
      throw usage(`no setting ${setting}; one of model, thinking, prompt, max-tokens, label, reset`);
  }
}

function modelChange(value: string): Change {
  const slash = value.indexOf("/");
  if (slash > 0) {
    const model = { provider: value.slice(0, slash), id: value.slice(slash + 1) };
    return { patch: () => ({ settings: { model } }) };
  }
  return {
    needsProvider: true,
    patch: (provider) => {
      if (provider === undefined) throw usage(`model is provider/id, for instance anthropic/${value}`);
      return { settings: { model: { provider, id: value } } };
    },
  };
}

function resetPolicy(value: string): unknown {
  const [mode, number] = value.split(":");
  const count = number === undefined ? undefined : Number(number);
  const policy = {
    mode,
    ...(mode === "daily" ? { atHour: count } : mode === "idle" ? { idleMinutes: count } : {}),
  };
  const checked = v.safeParse(resetPolicyField, policy);
  if (!checked.success)
    throw usage(`reset is manual, daily:HOUR (0 to 23), idle:MINUTES or default, not ${value}`);
  return checked.output;
}
