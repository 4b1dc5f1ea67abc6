import { ownValue } from "../../../shared/channels/account.ts";
import type { ChannelOrigin } from "../../../shared/channels/channel.ts";
import { roomTools } from "../../../shared/channels/inbound/room-tools.ts";
import type { Configuration, ModelConfiguration } from "../../../shared/configuration/schema.ts";
import { activeSetHash } from "../../../shared/context/context-entries.ts";
import { contextSettings, viewContext } from "../../../shared/context/view.ts";
import { sha256 } from "../../../shared/objects/hash.ts";
import { joinOrigins } from "../../../shared/origins/origins.ts";
import { isConnected, type PeerRecord } from "../../../shared/peers/registry.ts";
import type { Role } from "../../../shared/protocol/channel-accounts.ts";
import {
  type Message,
  type MessageOrigin,
  type ReplyContext,
  type ToolDefinition,
  textOf,
} from "../../../shared/protocol/messages.ts";
import type { ThinkingLevel } from "../../../shared/protocol/schemas.ts";
import { effectiveChoice } from "../../../shared/session/commands/model-choice.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { keyRules } from "../../../shared/session/key/routing.ts";
import {
  agentIdOf,
  clientKinds,
  cronKind,
  isGuestSessionKey,
  parseSessionKey,
  sessionKind,
} from "../../../shared/session/key/session-key.ts";
import { askersOf, type Run, rootOf, senderOf, wordsRead } from "../../../shared/session/run.ts";
import type { SessionState } from "../../../shared/session/state.ts";
import { evaluateSkills, type SkillStatus } from "../../../shared/skills/eligibility.ts";
import type { Skill } from "../../../shared/skills/skill-lister.ts";
import { withMirror } from "../../../shared/skills/skill-mirror.ts";
import type { CacheRetention } from "../../../shared/spend/price.ts";
import { type Audience, audienceOf } from "../../../shared/workspace/privacy.ts";
import type { Step } from "../../../shared/world/expression.ts";
import type { Agent } from "../agent.ts";
import { toolsOf } from "../mcp/offer-tools.ts";
import { chooseRetention } from "../model/cache-retention.ts";
import { describeModel } from "../model/resolve-model.ts";
import { loadExtras } from "../objects/inline-files.ts";
import { fitContext, type ShownContext } from "../objects/show-context.ts";
import { mayUse } from "../tools/agent-rights.ts";
import type { NativeTool, ToolTurn } from "../tools/native/native-tool.ts";
import { nativeTools } from "../tools/native/native-tools.ts";
import type { Fit } from "./context-fit.ts";
import { promptCharacters, toolJson } from "./context-size.ts";
import { keepPrompt, sinceFirstSent } from "./kept-prompt.ts";
import { messageTail } from "./message-tail.ts";
import { type AssembledPrompt, assemblePrompt, machinesText, type PromptContent } from "./prompt.ts";
import { safety, toolCallStyle } from "./prompt-texts.ts";

/** Hex digits of a basis in a reply: 48 bits. */
const basisDigits = 12;

/** Everything of a model call except the messages. */
export interface TurnContext extends ToolTurn {
  configuration: Configuration;
  model: ModelConfiguration;
  /** Absent: the provider's default, which is no extended thinking. */
  thinkingLevel?: ThinkingLevel;
  /** As assembled from the files now; `Prepared.turn` has the one that is sent. */
  prompt: AssembledPrompt;
  /** Hash of what makes a kept prompt invalid at once. */
  basis: string;
  /** The offered machines in one line. */
  machines: string;
  /** The messaging platform of the run's message. */
  channel?: string;
  tools: ToolDefinition[];
}

/** A model call whose request fits into the model's window. */
export interface Prepared extends ShownContext, WithTail {
  status: "fits";
  turn: TurnContext;
  retention: CacheRetention;
  /** Steps of the commit that begins the call. */
  steps: readonly Step[];
}

/** The end of the newest message (`message-tail.ts`), which is committed with it. */
interface WithTail {
  tail?: string;
}

/** A tail, and whose words it contains, besides the owner's and those of the prompt. */
interface Told extends WithTail {
  origins?: string[];
}

type RequestAgent = Pick<
  Agent,
  | "archivedResults"
  | "bucket"
  | "configuration"
  | "now"
  | "promptCache"
  | "prompts"
  | "reminders"
  | "remoteTools"
  | "workspace"
>;

/**
 * Builds a request and makes it fit into the model's window. `known`: the nodes, also those that have disconnected.
 * @param isNew the last of `messages` is a user message that is not committed yet; it gets a tail
 */
export async function prepareRequest(
  agent: RequestAgent,
  state: SessionState,
  run: Run,
  { messages: given, isNew }: { messages: readonly Message[]; isNew: boolean },
  known: Promise<PeerRecord[]>,
): Promise<(Prepared | Exclude<Fit, { status: "fits" }>) & WithTail> {
  const settings = contextSettings(await agent.configuration.load(), agentIdOf(state.sessionKey));
  const view = viewContext(given, state.first, state.context, settings);
  const [current, extras] = await Promise.all([
    loadContext(agent, state, run, known),
    loadExtras(agent, state, view.extras),
  ]);
  const origins = joinOrigins(current.origins, extras.origins);
  const turn = { ...current, origins, prompt: await keepPrompt(agent, state, current, given) };
  const told: Told = isNew ? await tailOf(agent, state, run, current, turn.prompt, given) : {};
  turn.origins = joinOrigins(origins, told.origins);
  const tail = told.tail === undefined ? {} : { tail: told.tail };
  const messages = told.tail === undefined ? given : withTail(given, told.tail);
  const { configuration, model, prompt, tools, audience } = turn;
  const empty = {
    promptCharacters: promptCharacters(prompt.text, tools),
    contextWindow: (await describeModel(model)).contextWindow,
    settings: configuration.compaction,
    measured: state,
  };
  const fitted = fitContext({ state, messages, settings, extras: extras.content, audience, empty }, run);
  if (fitted.status !== "fits") return { ...fitted, ...tail };
  const retention = chooseRetention(
    configuration.model.cacheRetention ?? "auto",
    model,
    messages,
    agent.now(),
  );
  return { status: "fits", turn, retention, ...fitted.shown, steps: fitted.steps, ...tail };
}

/** The tail of a new message that is committed before its model call. @param messages the last one is the new message */
export async function newTail(
  agent: RequestAgent,
  state: SessionState,
  run: Run,
  messages: readonly Message[],
  known: Promise<PeerRecord[]>,
): Promise<Required<Told>> {
  const current = await loadContext(agent, state, run, known);
  return tailOf(agent, state, run, current, await keepPrompt(agent, state, current, messages), messages);
}

/** The tail of a new message whose request cannot be built now: the time and the channel. */
export async function plainTail(
  { configuration, now }: Pick<Agent, "configuration" | "now">,
  { origin }: Pick<Run, "origin">,
): Promise<string> {
  const { userTimezone: timezone } = await configuration.load({ anyAge: true });
  const channel = origin.kind === "channel" ? { channel: origin.channel } : {};
  return messageTail({ now: now(), timezone, ...channel, sent: "", current: "", earlier: [] });
}

async function tailOf(
  { now, reminders }: Pick<Agent, "now" | "reminders">,
  { sessionKey }: Pick<SessionState, "sessionKey">,
  { task }: Pick<Run, "task">,
  { prompt, configuration, machines, channel, audience, native }: TurnContext,
  sent: AssembledPrompt,
  messages: readonly Message[],
): Promise<Required<Told>> {
  const earlier = messages.slice(0, -1);
  const [newest] = messages.slice(-1);
  const timezone = configuration.userTimezone;
  const { memory } = configuration;
  const isReminded = memory.autoRecall && native.has("gsv__recall") && audience !== "shared" && !task;
  const reminded =
    newest && isReminded
      ? await reminders.find({
          ...{ sessionKey, audience, timezone, rules: keyRules(configuration), text: textOf(newest) },
          uses: { memories: memory.tool, turns: memory.sessionLogs },
          visible: () => [sent.text, prompt.text, ...earlier.map(textWithTail)].join("\n"),
        })
      : undefined;
  const tail = messageTail({
    ...{ now: now(), timezone, machines },
    ...(channel === undefined ? {} : { channel }),
    ...(reminded ? { reminders: reminded.lines } : {}),
    sent: sent.text,
    current: prompt.text,
    earlier: sinceFirstSent(earlier, sent.hash),
  });
  return { tail, origins: reminded?.origins ?? [] };
}

function textWithTail(message: Message): string {
  return message.role === "user" ? `${textOf(message)}\n${message.tail ?? ""}` : textOf(message);
}

/** `messages`, the last of which, a user message, gets this tail. */
export function withTail(messages: readonly Message[], tail: string): Message[] {
  return messages.map((message, index) =>
    index === messages.length - 1 && message.role === "user" ? { ...message, tail } : message,
  );
}

/** Loads configuration and workspace files, in parallel. `known`: the nodes, also those that have disconnected. */
export async function loadContext(
  agent: Pick<Agent, "configuration" | "prompts" | "remoteTools" | "now">,
  state: SessionState,
  run: Run,
  known: Promise<PeerRecord[]>,
): Promise<TurnContext> {
  const { sessionKey } = state;
  const [agentId, now] = [agentIdOf(sessionKey), agent.now()];
  const configuration = await agent.configuration.load();
  const { model, thinkingLevel } = effectiveChoice(configuration, sessionKey, state.settings, run.overrides);
  const { role, audience, native: own, nodes: mayUseNodes } = rightsOf(configuration, state, run, model);
  const timezone = configuration.userTimezone;
  const kind = sessionKind(sessionKey, keyRules(configuration));
  const [peers, { files, skills, origins }, ofServers] = await Promise.all([
    known,
    agent.prompts.load({ agentId, audience, now, timezone }),
    mayUseNodes ? agent.remoteTools.offered(configuration) : [],
  ]);
  const sinceMs = now - configuration.nodes.keepOfferedHours * 3_600_000;
  const kept = mayUseNodes ? peers.filter(({ leftAt = now }) => leftAt >= sinceMs) : [];
  const found = state.foundTools ?? [];
  const { native, offered, tools } = toolsOf(configuration, agentId, own, kept, { ofServers, found });
  const ofAgent = configuration.agents.list.find((one) => one.id === agentId);
  const usable = eligibleSkills(agentId, skills, configuration, kept);
  const content: PromptContent = {
    agentId,
    audience,
    role,
    basePrompt: state.settings.systemPrompt ?? ofAgent?.systemPrompt ?? configuration.systemPrompt,
    tools,
    files,
    skills: usable,
  };
  const machines = machinesText(kept, timezone);
  const isPrivate = state.private === true;
  const asked = `${model.provider}/${model.id}`;
  const prompt = assemblePrompt(content, {
    ...{ agentId, sessionKey, sessionKind: kind, model: asked, timezone, machines, isPrivate },
  });
  const isFirstRun = (files.bootstrap ?? "").trim() !== "";
  const listed = usable.map(({ readPath, mirror }) => (mirror ? `${readPath} ${mirror.folder}` : readPath));
  const texts = [content.basePrompt, safety, toolCallStyle];
  const rights = [asked, role, audience, kind, timezone, isFirstRun, texts, listed];
  const basis = sha256(`${JSON.stringify(rights).slice(0, -1)},[${tools.map(toolJson).join()}]]`);
  const sender = senderOf(run);
  const lastChannel = lastChannelOf(state, run, kind);
  return {
    ...{
      configuration,
      model,
      prompt,
      basis: basis.slice(0, basisDigits),
      machines,
      tools,
      native,
      nodeTools: offered,
      nodes: kept.filter(isConnected),
      audience,
      isPrivate,
      conversation: `${state.sessionId}.${state.first}`,
      agentId,
      origins: joinOrigins(wordsRead(run), origins, ...usable.map((skill) => skill.origins)),
      askers: askersOf(run) ?? [],
      root: rootOf(run, sessionKey),
    },
    ...(run.origin.kind === "channel" ? { channel: run.origin.channel } : {}),
    ...(thinkingLevel ? { thinkingLevel } : {}),
    ...(sender ? { sender } : {}),
    ...(lastChannel ? { lastChannel } : {}),
  };
}

/** Not the stored channel of a main session or a job's session: it may belong to somebody who is no owner any more. */
function lastChannelOf({ lastChannel }: SessionState, { origin }: Run, kind: string) {
  if (origin.kind === "channel") return origin;
  return kind === "main" || kind === cronKind ? undefined : lastChannel;
}

function eligibleSkills(
  agentId: string,
  skills: Skill[],
  configuration: Configuration,
  nodes: PeerRecord[],
): SkillStatus[] {
  const hosts = nodes.flatMap(({ id, runtime }) => (runtime ? [{ ...runtime, nodeId: id }] : []));
  const surroundings = { entries: configuration.skills.entries, hosts, config: configuration };
  const eligible = evaluateSkills(skills, surroundings).filter((skill) => skill.eligible);
  return eligible.map((skill) => withMirror(skill, agentId, nodes));
}

/** What a run may read and use (docs/security.md, "Who may do what"). */
interface RunRights {
  role: Role;
  audience: Audience;
  /** The native tools that the run may use, by name. */
  native: ReadonlyMap<string, NativeTool>;
  /** Whether the run may use the tools of nodes, and of MCP servers. */
  nodes: boolean;
}

/** The rights of a run. They depend on the sender of its message and on the conversation. */
function rightsOf(
  configuration: Configuration,
  { sessionKey, lastChannel }: Pick<SessionState, "sessionKey" | "lastChannel">,
  { role = "owner", origin }: Pick<Run, "role" | "origin">,
  model: ModelConfiguration,
): RunRights {
  const kind = sessionKind(sessionKey, keyRules(configuration));
  const ofSession = audienceOf(kind);
  const audience = role === "guest" ? "shared" : ofSession;
  const isOwnSession = role === "owner" && clientKinds.includes(kind);
  const agentId = agentIdOf(sessionKey);
  const native = nativeTools.filter(
    (tool) =>
      (role === "owner" || tool.forGuests) &&
      (isOwnSession || !tool.ownSessionsOnly) &&
      mayUse(configuration, agentId, tool.definition.name) &&
      tool.isOffered?.(configuration, agentId, model) !== false,
  );
  const room = origin.kind === "channel" ? origin : lastChannel;
  return {
    role,
    audience,
    native: new Map(native.map((tool) => [tool.definition.name, tool])),
    nodes: ofSession === "shared" ? mayInRoom(configuration, sessionKey, role, room) : role === "owner",
  };
}

/** Whether a run in a conversation that others read may use the tools of nodes: they would see the results. */
function mayInRoom(
  configuration: Configuration,
  sessionKey: string,
  role: Role,
  room: ChannelOrigin | undefined,
): boolean {
  if (isGuestSessionKey(sessionKey)) return false;
  if (room) {
    const settings = ownValue(configuration.channels, room.channel);
    const allowed = roomTools(room.channel, settings, room.peer.id);
    return allowed === "all" || (allowed === "owner" && role === "owner");
  }
  // No channel has written here: it is a client's own conversation, unless its key is that of a room.
  const { channel } = parseSessionKey(sessionKey) ?? {};
  return (
    role === "owner" && (channel === undefined || ownValue(configuration.channels, channel) === undefined)
  );
}

/** The origin of an inbox entry's message, as the transcript stores it. */
export function messageOrigin(entry: Extract<InboxEntry, { kind: "message" }>): MessageOrigin {
  const { id, origin, senderId, task } = entry;
  if (task) return { channel: task.kind, messageId: id };
  if (origin.kind === "client") return { channel: "client", messageId: id };
  const { channel, accountId, peer, replyToId } = origin;
  return {
    channel,
    accountId,
    peerKind: peer.kind,
    peerId: peer.id,
    ...(senderId === undefined ? {} : { senderId }),
    messageId: replyToId ?? id,
  };
}

/** References to the prompt, the active objects and the model of a reply, as the transcript stores them. */
export function replyContext({
  turn,
  active,
  retention,
}: Pick<Prepared, "turn" | "active" | "retention">): ReplyContext {
  const { prompt, basis, model } = turn;
  return {
    prompt: prompt.hash,
    tail: "",
    // Without a basis the next request assembles its prompt again.
    ...(retention === "none" ? {} : { basis }),
    ...(retention === "long" ? { cached: retention } : {}),
    active: activeSetHash(active),
    model: `${model.provider}/${model.id}`,
  };
}
