import { code, PeerError } from "../protocol/errors.ts";
import type { StoredMedia } from "../protocol/messages.ts";
import type { ChatSendResult, FoundDirectives } from "../protocol/results.ts";
import { correlate, log } from "../runtime/log.ts";
import { type CommandContext, runCommand, statusText } from "./commands/commands.ts";
import { type Directives, parseDirectives } from "./commands/directives.ts";
import { directiveRefusal } from "./commands/guest-rights.ts";
import { effectiveModel } from "./commands/model-choice.ts";
import { parseCommand } from "./commands/parse-command.ts";
import { appendEntry } from "./inbox.ts";
import type { Configured, InboxEntry, Origin, RemoteMedia, Writer } from "./inbox-entry.ts";
import { readSession } from "./sessions.ts";
import { isLeased, needsAgent, type SessionState } from "./state.ts";

/** The dependencies of accepting a message. The socket, webhook and timer functions share them. */
export type Intake = CommandContext;

/**
 * An incoming message. The caller chooses `id`, so that a retry is the same message; it becomes the run's id.
 */
export interface Incoming extends Configured {
  id: string;
  /** The sender's text, in which commands and directives are recognized. */
  text: string;
  /** A line that the model sees before the text. */
  envelope?: string;
  /** What the model sees after the text: content that is not in the sender's own words. It contains no command or directive. */
  shown?: string;
  /** Attachments that are already stored (`storeMedia`). Commands ignore them. */
  media?: readonly StoredMedia[];
  /** Attachments that the agent still has to fetch. */
  attachments?: readonly RemoteMedia[];
  origin: Origin;
  /** Whose words the message contains, besides the writer's. */
  origins?: string[];
  /** Whether the answer is stored for a client that asks later. */
  keepsAnswer?: boolean;
  /** The writer, whose rights apply to the command or the run; `{}` for a client. */
  writer: Writer;
}

/** The reply to the sender. `deferred`: the agent answers the request after the command. */
export type IntakeReply = ChatSendResult | { status: "deferred" };

/**
 * Accepts a message for a session. A slash command is executed; directives are removed from the text; the
 * message is appended to the inbox and the agent is woken. Every client and channel uses this function.
 * @param sessionKey canonical
 * @throws PeerError 400 for a message of white space alone; 429, retryable, when the inbox is full; 413 for a
 * message above `maxEntryBytes`
 */
export async function submitMessage(
  intake: Intake,
  sessionKey: string,
  incoming: Incoming,
): Promise<IntakeReply> {
  correlate(incoming.id);
  const command = parseCommand(incoming.text);
  if (command) {
    const reply = await runCommand(intake, sessionKey, incoming.id, command, incoming.writer);
    if (!("entry" in reply)) return { status: "command", command: command.name, ...reply };
    await submitEntry(intake, sessionKey, {
      ...entryBase(intake, incoming),
      ...reply.entry,
      via: "command",
    });
    return { status: "deferred" };
  }
  const found = await directivesOf(intake, sessionKey, incoming.text);
  const directives = found && describeDirectives(found);
  if (incoming.writer.role === "guest" && (directives?.model ?? directives?.thinkLevel) !== undefined)
    return { status: "directive-only", response: directiveRefusal };
  const response = found?.status ? await statusText(intake, sessionKey) : undefined;
  const { media = [], attachments = [], shown } = incoming;
  if (found && found.text === "" && !shown && media.length + attachments.length === 0) {
    return {
      status: "directive-only",
      response: response ?? "Directives apply only to the message that contains them; add a text.",
      directives,
    };
  }
  const text = [incoming.envelope, found?.text ?? incoming.text, shown].filter((line) => line).join("\n");
  if (text.trim() === "" && media.length + attachments.length === 0)
    throw new PeerError(code.badRequest, "message: is empty; write a text or attach a file");
  const entry: InboxEntry = {
    ...entryBase(intake, incoming),
    origin: answeredAt(incoming.origin),
    kind: "message",
    text,
    ...(media.length > 0 ? { media: [...media] } : {}),
    ...(attachments.length > 0 ? { attachments: [...attachments] } : {}),
    ...(found ? { overrides: found.overrides } : {}),
    ...(incoming.keepsAnswer ? { keepsAnswer: true } : {}),
    ...(incoming.origins ? { origins: incoming.origins } : {}),
  };
  const { queued } = await submitEntry(intake, sessionKey, entry);
  return {
    status: "started",
    runId: entry.id,
    ...(queued ? { queued } : {}),
    ...(directives ? { directives } : {}),
    ...(response ? { response } : {}),
  };
}

/**
 * Appends an entry to the inbox and wakes the agent unless a running agent will read it.
 * @returns `queued`: other work comes before this entry
 */
export async function submitEntry(
  intake: Intake,
  sessionKey: string,
  entry: InboxEntry,
): Promise<{ queued: boolean }> {
  const now = intake.now();
  const { accepted, state } = await appendEntry(intake.table, sessionKey, entry, now);
  const queued = isBehindOthers(state, entry.id, now);
  log("inbox.append", { sessionKey, entryId: entry.id, kind: entry.kind, accepted, queued });
  if (needsAgent(state, now)) await intake.wake(sessionKey, entry.configurationVersion);
  return { queued };
}

/**
 * The origin to store with a message. For a client it is shortened: the answer is an event, so no request waits for it, and
 * the session's item, which holds the origin during the whole turn, is billed by its size.
 */
function answeredAt(origin: Origin): Origin {
  return origin.kind === "client" ? { kind: "client" } : origin;
}

function isBehindOthers(state: SessionState, entryId: string, now: number): boolean {
  return state.run !== undefined || state.inbox[0]?.id !== entryId || isLeased(state, now);
}

function entryBase(intake: Intake, incoming: Incoming) {
  const { id, origin, writer, configurationVersion } = incoming;
  const configured = configurationVersion === undefined ? {} : { configurationVersion };
  return { id, at: intake.now(), origin, ...writer, ...configured };
}

/** Undefined when the text has no directives. A text without a slash, the usual case, costs no read. */
async function directivesOf(
  intake: Intake,
  sessionKey: string,
  text: string,
): Promise<Directives | undefined> {
  if (!text.includes("/")) return undefined;
  const [state, configuration] = await Promise.all([
    readSession(intake.table, sessionKey),
    intake.configuration.load(),
  ]);
  const current = effectiveModel(configuration, sessionKey, state?.settings ?? {});
  const found = parseDirectives(text, current);
  return found.text === text ? undefined : found;
}

function describeDirectives({ overrides, status }: Directives): FoundDirectives {
  const { model, thinkingLevel } = overrides;
  return {
    ...(model ? { model } : {}),
    ...(thinkingLevel ? { thinkLevel: thinkingLevel } : {}),
    ...(status ? { status } : {}),
  };
}
