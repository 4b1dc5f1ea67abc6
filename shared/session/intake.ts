import { code, PeerError } from "../protocol/errors.ts";
import type { StoredMedia } from "../protocol/messages.ts";
import type { ChatSendResult, FoundDirectives } from "../protocol/results.ts";
import { correlate, log } from "../runtime/log.ts";
import { type CommandContext, runCommand, statusText } from "./commands/commands.ts";
import { type Directives, parseDirectives } from "./commands/directives.ts";
import { directiveRefusal } from "./commands/guest-rights.ts";
import { effectiveModel } from "./commands/model-choice.ts";
import { parseCommand } from "./commands/parse-command.ts";
import { correctEntry, type MessageEntry } from "./correct-entry.ts";
import { appendEntry } from "./inbox.ts";
import type {
  Configured,
  Correction,
  Dated,
  InboxEntry,
  Origin,
  Overrides,
  RemoteMedia,
  Writer,
} from "./inbox-entry.ts";
import { orderEntry } from "./order-entry.ts";
import { readSession } from "./sessions.ts";
import { isLeased, needsAgent, type SessionState } from "./state.ts";

/** The dependencies of accepting a message. The socket, webhook and timer functions share them. */
export type Intake = CommandContext;

/**
 * An incoming message. The caller chooses `id`, so that a retry is the same message; it becomes the run's id.
 */
export interface Incoming extends Configured, Dated {
  id: string;
  /** The sender's text, in which commands and directives are recognized. */
  text: string;
  /** A line that the model sees before the text. */
  envelope?: string;
  /** What the model sees after the text: content that is not in the sender's own words. It contains no command or directive. */
  shown?: string;
  /** The id of the album that the message is a part of. */
  album?: string;
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
  if (isRefused(incoming, found)) return { status: "directive-only", response: directiveRefusal };
  const response = found?.status ? await statusText(intake, sessionKey) : undefined;
  const { media = [], attachments = [], shown } = incoming;
  if (found && found.text === "" && !shown && media.length + attachments.length === 0) {
    return {
      status: "directive-only",
      response: response ?? "Directives apply only to the message that contains them; add a text.",
      directives,
    };
  }
  const entry = messageEntry(intake, incoming, found?.text ?? incoming.text, found?.overrides);
  if (entry.text.trim() === "" && media.length + attachments.length === 0)
    throw new PeerError(code.badRequest, "message: is empty; write a text or attach a file");
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
 * Accepts the edit of a message (`correctEntry`). It executes no command. A guest's directives are left out.
 * @param edit the edit with an id of its own
 * @param isKnown whether the session has accepted the message
 * @returns whether the entry of the message, or of an earlier edit, was replaced
 */
export async function submitEdit(
  intake: Intake,
  sessionKey: string,
  edit: Incoming,
  correction: Correction,
  isKnown: boolean,
): Promise<{ replaced: boolean }> {
  const found = await directivesOf(intake, sessionKey, edit.text);
  const text = found?.text ?? edit.text;
  const overrides = isRefused(edit, found) ? {} : found?.overrides;
  const plain = { ...messageEntry(intake, edit, text, overrides), correction };
  const marked = { ...plain, ...messageEntry(intake, edit, `[corrected] ${text}`, overrides) };
  if (isKnown && (await correctEntry(intake.table, sessionKey, plain, marked, intake.now()))) {
    // A redelivery of the message is a duplicate from now on, so that it would no longer be moved to its place.
    const state = await readSession(intake.table, sessionKey);
    if (state) await orderEntry(intake.table, { sessionKey }, correction.of, state);
    return { replaced: true };
  }
  await submitEntry(intake, sessionKey, isKnown ? marked : plain);
  return { replaced: false };
}

/** Whether the writer may not use the directives of a message. */
function isRefused({ writer }: Pick<Incoming, "writer">, found: Directives | undefined): boolean {
  const { model, thinkingLevel } = found?.overrides ?? {};
  return writer.role === "guest" && (model ?? thinkingLevel) !== undefined;
}

function messageEntry(
  intake: Intake,
  incoming: Incoming,
  text: string,
  overrides: Overrides | undefined,
): MessageEntry {
  const { envelope, media = [], attachments = [], shown } = incoming;
  return {
    ...entryBase(intake, incoming),
    origin: answeredAt(incoming.origin),
    kind: "message",
    text: [envelope, text, shown].filter((line) => line).join("\n"),
    ...(media.length > 0 ? { media: [...media] } : {}),
    ...(attachments.length > 0 ? { attachments: [...attachments] } : {}),
    ...(overrides ? { overrides } : {}),
    ...(incoming.keepsAnswer ? { keepsAnswer: true } : {}),
    ...(incoming.origins ? { origins: incoming.origins } : {}),
    ...(incoming.album ? { album: incoming.album } : {}),
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
  await orderEntry(intake.table, { sessionKey }, entry.id, state);
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
  const { id, origin, writer, configurationVersion, sentAt } = incoming;
  const configured = configurationVersion === undefined ? {} : { configurationVersion };
  const dated = sentAt === undefined ? {} : { sentAt };
  return { id, at: intake.now(), origin, ...writer, ...configured, ...dated };
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
