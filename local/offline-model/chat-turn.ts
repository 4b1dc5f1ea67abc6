import { activeHeading } from "../../shared/wire/wire-messages.ts";
import { type ChatMessage, messageText } from "../openai-wire/chat-request.ts";

/**
 * First line of the first answer in a conversation. It states that the offline model is not a language model.
 */
export const label =
  "(built-in offline model: rules, not a language model; set a provider key for a real one)";

/** A tool call of this turn and its outcome. */
export interface Step {
  tool: string;
  args: Record<string, unknown>;
  outcome: Outcome;
}

/** The result of a tool, parsed where it is JSON; or its error. */
export type Outcome = { ok: true; value: unknown } | { ok: false; error: string };

/** What the model does next: call tools, or answer. */
export type Move = { calls: { name: string; args: Record<string, unknown> }[] } | { text: string };

/** The part of a conversation that the rules use. */
export interface ChatTurn {
  /** The last message of the user. */
  question: string;
  /** The tool calls since. */
  steps: Step[];
  /** Whether the label was sent already. */
  labelled: boolean;
}

/**
 * Text that pi-ai puts before images of tool results. Chat Completions does not allow images in tool
 * messages.
 */
const imageNotice = "Attached image(s) from tool result:";

/** Reads a conversation whose tool calls are all answered. */
export function readTurn(messages: readonly ChatMessage[]): ChatTurn {
  const last = messages.findLastIndex(
    ({ role, content }) => role === "user" && !["", imageNotice].includes(saidIn(content)),
  );
  const since = messages.slice(last + 1);
  const results = new Map(
    since.flatMap((message) =>
      message.role === "tool"
        ? [[message.tool_call_id, readOutcome(messageText(message.content))] as const]
        : [],
    ),
  );
  const steps = since
    .flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : []))
    .map((call) => ({
      tool: call.function.name,
      args: readArguments(call.function.arguments),
      outcome: results.get(call.id) ?? { ok: false as const, error: "no result" },
    }));
  return {
    question: withoutEnvelope(saidIn(messages[last]?.content)),
    steps,
    labelled: messages.some(
      (message) => message.role === "assistant" && messageText(message.content).startsWith(label),
    ),
  };
}

/** What a user has said in a message: active objects may stand behind it, or alone in one. */
function saidIn(content: ChatMessage["content"] | undefined): string {
  return (
    messageText(content ?? "")
      .split(activeHeading, 1)[0]
      ?.trim() ?? ""
  );
}

/** Messages from channels start with `[channel · time · sender]`, those of scheduled jobs with a line about the job, too. */
function withoutEnvelope(text: string): string {
  return text
    .replace(/^\s*\[[^\]\n]*·[^\]\n]*\]:?\s*/, "")
    .replace(/^Scheduled job: .*\n(?:\(.*\)\n)?\n/, "")
    .trim();
}

/** Failures arrive as `Error: …`, native tools wrap theirs in `{ok, result, error}`. */
function readOutcome(text: string): Outcome {
  const error = text.match(/^Error: ([\s\S]*)$/)?.[1];
  if (error !== undefined) return { ok: false, error };
  const value = parse(text);
  if (!isRecord(value) || typeof value.ok !== "boolean") return { ok: true, value: value ?? text };
  if (value.ok) return { ok: true, value: value.result };
  return { ok: false, error: typeof value.error === "string" ? value.error : JSON.stringify(value.error) };
}

function readArguments(json: string): Record<string, unknown> {
  const value = parse(json);
  return isRecord(value) ? value : {};
}

/** Parses JSON. Returns undefined for invalid JSON. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
