import type { Configuration } from "../../configuration/schema.ts";
import type { ConfigurationStore } from "../../configuration/store.ts";
import { parseThinkingLevel, thinkingLevels } from "../../protocol/schemas.ts";
import type { Table, WakeAgent } from "../../world/world.ts";
import { dequeue } from "../dequeue.ts";
import { stopExtractions } from "../extraction.ts";
import type { Writer } from "../inbox-entry.ts";
import { patchSession, readSession } from "../sessions.ts";
import { messageCount, needsAgent, type SessionState } from "../state.ts";
import { requestStop } from "../stop.ts";
import { budgetCommand } from "./budget-command.ts";
import { contextCommand } from "./context-command.ts";
import { costCommand } from "./cost-command.ts";
import { parseModelSelector } from "./directives.ts";
import { guestHelp, refusalOf } from "./guest-rights.ts";
import { effectiveModel, effectiveThinking, missingFor } from "./model-choice.ts";
import type { Command, CommandName } from "./parse-command.ts";

/** The help on one slash command. */
export interface CommandHelp {
  /** The command's names, without the slash. */
  words: readonly [string, ...string[]];
  /** What may follow it. */
  argument?: string;
  does: string;
}

/** Every slash command of the gateway, in the order of `/help`. */
export const commandHelp: Record<CommandName, CommandHelp> = {
  reset: { words: ["new", "reset"], does: "archive this conversation and start a fresh one" },
  private: {
    words: ["private"],
    does: "start a conversation that is not archived, searched or read for memories",
  },
  compact: {
    words: ["compact"],
    argument: "[N]",
    does: "put a summary in place of all but the newest N messages (20)",
  },
  stop: { words: ["stop"], does: "stop the answer in progress" },
  status: { words: ["status"], does: "show this session" },
  model: { words: ["model"], argument: "[provider/id or id]", does: "show or set the model" },
  think: {
    words: ["think"],
    argument: "[off|minimal|low|medium|high|xhigh or 0–5]",
    does: "show or set the thinking level",
  },
  cost: {
    words: ["cost"],
    does: "show the tokens and money of the last turn, this conversation, today and this month",
  },
  budget: {
    words: ["budget"],
    does: "show what today and this month cost, and how much of each budget is used",
  },
  context: { words: ["context"], does: "show how full the context window is" },
  help: { words: ["help"], does: "this list" },
};

/** `/compact [N] – put a summary in place of …` */
export function helpLine({ words, argument, does }: CommandHelp): string {
  const names = words.map((word) => `/${word}`).join(", ");
  return `${argument === undefined ? names : `${names} ${argument}`} – ${does}`;
}

/** The dependencies of commands. */
export interface CommandContext {
  table: Table;
  wake: WakeAgent;
  configuration: Pick<ConfigurationStore, "load">;
  now: () => number;
}

/** The immediate reply to a command, or the inbox entry with which the agent executes it. */
export type CommandReply =
  | { response?: string; error?: string }
  | { entry: { kind: "reset"; private?: true } | { kind: "compact"; keep: number } };

/** Messages that a compaction keeps when no count is given. */
const defaultKeepMessages = 20;

const help = [
  "Commands:",
  ...Object.values(commandHelp).map(helpLine),
  "For one message alone, anywhere in it: /think:LEVEL /model:SELECTOR /status",
].join("\n");

/**
 * Executes a command, or returns the inbox entry that executes it. Commands never reach the model. A command that a guest
 * may not use is refused with one sentence.
 * @param id of the message that holds the command; a retry has the same
 */
export async function runCommand(
  context: CommandContext,
  sessionKey: string,
  id: string,
  command: Command,
  writer: Writer,
): Promise<CommandReply> {
  const isGuest = writer.role === "guest";
  const refusal = refusalOf(sessionKey, writer, command);
  if (refusal !== undefined) return { error: refusal };
  switch (command.name) {
    case "help":
      return { response: isGuest ? guestHelp(sessionKey) : help };
    case "reset":
      return { entry: { kind: "reset" } };
    case "private":
      return { entry: { kind: "reset", private: true } };
    case "compact":
      return compact(command.argument);
    case "stop":
      return stopRuns(context, sessionKey, id, writer, runIdsOf(command.argument));
    case "status":
      return { response: await statusText(context, sessionKey) };
    case "model":
      return model(context, sessionKey, command.argument);
    case "cost":
      // A message of a channel shows nothing of other sessions.
      return { response: await costCommand(context, sessionKey, writer.role === undefined) };
    case "budget":
      return budgetCommand(context);
    case "context":
      return { response: await contextCommand(context, sessionKey) };
    case "think":
      return think(context, sessionKey, command.argument);
  }
}

function compact(argument: string): CommandReply {
  const keep = argument === "" ? defaultKeepMessages : /^\d{1,6}$/.test(argument) ? Number(argument) : 0;
  return keep > 0 ? { entry: { kind: "compact", keep } } : { error: "Invalid count. Usage: /compact [N]" };
}

/** The run ids after "/stop". Any other text after the command is ignored. */
function runIdsOf(argument: string): string[] {
  const words = argument.split(/\s+/);
  return words.every((word) => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(word)) ? words : [];
}

/** Stops the run in progress. With `ids`: only if it is one of these; those that have not begun leave the inbox. */
async function stopRuns(
  context: CommandContext,
  sessionKey: string,
  id: string,
  writer: Writer,
  ids: readonly string[],
): Promise<CommandReply> {
  if (ids.length === 0) return stop(context, sessionKey, id, writer, undefined);
  const removed = await dequeue(context.table, sessionKey, id, ids, context.now(), writer);
  const begun = ids.filter((one) => !removed.includes(one));
  let reply: CommandReply = {};
  for (const only of begun) {
    reply = await stop(context, sessionKey, id, writer, only);
    if (hasStopped(reply)) break;
  }
  if (removed.length === 0) return reply;
  const parts = [
    hasStopped(reply) ? reply.response : "",
    `Stopped before they began: ${removed.join(", ")}.`,
  ];
  return { response: parts.join(" ").trim() };
}

const hasStopped = (reply: CommandReply): reply is { response: string } =>
  "response" in reply && /^Stopped\b/.test(reply.response ?? "");

async function stop(
  context: CommandContext,
  sessionKey: string,
  id: string,
  writer: Writer,
  only: string | undefined,
): Promise<CommandReply> {
  const stopped = await requestStop(context.table, sessionKey, id, context.now(), writer, only);
  if (!stopped) {
    if (only) return { response: `Run ${only} is not in progress.` };
    // Guests have no extraction of their own.
    const extracts =
      writer.role !== "guest" && (await stopExtractions(context.table, sessionKey, context.now()));
    return { response: extracts ? "Stopped the extraction of memories." : "No run in progress." };
  }
  if (stopped === "refused")
    return {
      error: "The answer in progress is not to your message; only its writer or an owner may stop it.",
    };
  if (needsAgent(stopped.state, context.now())) await context.wake(sessionKey);
  const { runId, pendingCount, isCompaction } = stopped;
  if (isCompaction) return { response: `Stopped the compaction ${runId}.` };
  const tools = pendingCount > 0 ? `, cancelled ${pendingCount} pending tool(s)` : "";
  return { response: runId === undefined ? "Stopped." : `Stopped run ${runId}${tools}.` };
}

/** A short description of the session, for the `/status` command and directive. */
export async function statusText(context: CommandContext, sessionKey: string): Promise<string> {
  const [state, configuration] = await Promise.all([
    readSession(context.table, sessionKey),
    context.configuration.load(),
  ]);
  return describeSession(sessionKey, state, configuration);
}

function describeSession(
  sessionKey: string,
  state: SessionState | undefined,
  configuration: Configuration,
): string {
  const settings = state?.settings ?? {};
  const { provider, id } = effectiveModel(configuration, sessionKey, settings);
  const thinking = effectiveThinking(settings);
  const policy = state?.resetPolicy ?? configuration.session.defaultResetPolicy;
  const { input, output } = state?.tokens ?? { input: 0, output: 0 };
  return [
    `Session: ${sessionKey}${state?.private ? " (private)" : ""}`,
    `Messages: ${state ? messageCount(state) : 0}`,
    `Tokens: ${input} in / ${output} out`,
    `Model: ${provider}/${id}`,
    ...(thinking ? [`Thinking: ${thinking}`] : []),
    `Reset: ${describePolicy(policy)}`,
  ].join("\n");
}

function describePolicy(policy: Configuration["session"]["defaultResetPolicy"]): string {
  if (policy.mode === "daily") return `daily at ${String(policy.atHour ?? 4).padStart(2, "0")}:00`;
  if (policy.mode === "idle") return `after ${policy.idleMinutes ?? 60} idle minutes`;
  return "manual";
}

async function model(context: CommandContext, sessionKey: string, argument: string): Promise<CommandReply> {
  const [state, configuration] = await Promise.all([
    readSession(context.table, sessionKey),
    context.configuration.load(),
  ]);
  const current = effectiveModel(configuration, sessionKey, state?.settings ?? {});
  if (argument === "") return { response: `Model: ${current.provider}/${current.id}` };
  const chosen = parseModelSelector(argument, current);
  if (!chosen) return { error: `Invalid model selector: ${argument}` };
  await patchSession(context.table, sessionKey, { settings: { model: chosen } }, context.now());
  const missing = missingFor(effectiveModel(configuration, sessionKey, { model: chosen }), configuration);
  const warning = missing === undefined ? "" : `\nIt cannot be used yet: ${missing}`;
  return { response: `Model set to ${chosen.provider}/${chosen.id}${warning}` };
}

async function think(context: CommandContext, sessionKey: string, argument: string): Promise<CommandReply> {
  if (argument === "") {
    const state = await readSession(context.table, sessionKey);
    return { response: `Thinking level: ${state?.settings.thinkingLevel ?? "off"}` };
  }
  const level = parseThinkingLevel(argument);
  if (!level) {
    return { error: `Invalid level: ${argument}. Use ${thinkingLevels.join(", ")} or 0–5.` };
  }
  await patchSession(context.table, sessionKey, { settings: { thinkingLevel: level } }, context.now());
  return { response: `Thinking level set to ${level}` };
}
