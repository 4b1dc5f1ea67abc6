import * as v from "valibot";
import { joinOrigins } from "../../../../shared/origins/origins.ts";
import { chooseNode } from "../../../../shared/peers/nodes.ts";
import { code, PeerError } from "../../../../shared/protocol/errors.ts";
import { type Message, textOf } from "../../../../shared/protocol/messages.ts";
import { count, sessionKeyField } from "../../../../shared/protocol/schemas.ts";
import { isWaitedFor } from "../../../../shared/session/asked-session.ts";
import { keyRules } from "../../../../shared/session/key/routing.ts";
import {
  agentIdOf,
  canonicalizeSessionKey,
  sessionKind,
} from "../../../../shared/session/key/session-key.ts";
import { listSessions, readSession } from "../../../../shared/session/sessions.ts";
import { isLeased, messageCount } from "../../../../shared/session/state.ts";
import { readMessages } from "../../../../shared/session/transcript.ts";
import { originsOfSession } from "../../../../shared/session/words-read.ts";
import { checkConfigurationReadable } from "../../../../shared/workspace/privacy.ts";
import type { Agent } from "../../agent.ts";
import { checkDelegate } from "../agent-rights.ts";
import { nativeTool } from "./native-tool.ts";

/** Max characters of a message in a list. */
const shownCharacters = 1000;

/** Kinds of sessions that a message from another session may start. A room's session starts with a message of the room. */
const startedByMessage = ["main", "named"];

export const sessionsList = nativeTool({
  name: "gsv__SessionsList",
  description:
    "List this gateway's conversations, the latest first, with the newest messageLimit messages of each (default: none).",
  arguments: {
    limit: v.optional(count(1, 100)),
    offset: v.optional(count(0, 1_000_000)),
    messageLimit: v.optional(count(0, 20)),
  },
  repeatable: true,
  forGuests: false,
  ownSessionsOnly: true,
  async run({ limit = 20, offset = 0, messageLimit = 0 }, { agent }) {
    const listed = await listSessions(agent.table, offset, limit);
    const sessions =
      messageLimit === 0
        ? listed.map((session) => ({ ...session, origins: [] as string[] }))
        : await Promise.all(
            listed.map(async (session) => ({
              ...session,
              ...(await newestOf(agent, session.sessionKey, messageLimit)),
            })),
          );
    const said = sessions.map(({ origins, ...session }) => ({ origins, session }));
    const result = { sessions: said.map(({ session }) => session), count: said.length, offset, limit };
    return { ok: true, result, origins: joinOrigins(...said.map(({ origins }) => origins)) };
  },
});

/** The newest messages of a conversation, without tool results and messages without text, and whose words they may contain. */
async function newestOf(agent: Pick<Agent, "table" | "bucket">, sessionKey: string, limit: number) {
  const state = await readSession(agent.table, sessionKey);
  if (!state) return { origins: [] };
  const from = Math.max(state.first, state.head - limit + 1);
  const messages = await readMessages(agent, state, from, state.head);
  const origins = originsOfSession(state, messages);
  return { messageCount: messageCount(state), messages: messages.flatMap(listedMessage), origins };
}

function listedMessage(message: Message) {
  const content = message.role === "toolResult" ? "" : textOf(message);
  if (content === "") return [];
  const { role, timestamp } = message;
  return [{ role, content: content.slice(0, shownCharacters).toWellFormed(), timestamp }];
}

export const sessionSend = nativeTool({
  name: "gsv__SessionSend",
  description:
    "Send a message to another conversation of this gateway (main, a name, agent:work:main) and wait for its answer, " +
    "unless waitSeconds is 0. Clients are shown that answer, messengers are not.",
  arguments: {
    sessionKey: sessionKeyField,
    message: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(50_000)),
    waitSeconds: v.optional(v.pipe(count(0, 120), v.description("Default 30"))),
  },
  repeatable: true,
  forGuests: false,
  ownSessionsOnly: true,
  asksSession: true,
  async run({ sessionKey: given, message, waitSeconds = 30 }, { agent, turn, address }) {
    const configuration = await agent.configuration.load();
    const rules = keyRules(configuration);
    const sessionKey = canonicalizeSessionKey(given, rules);
    checkDelegate(configuration, turn.agentId, agentIdOf(sessionKey));
    const refuse = (reason: string) => new PeerError(code.conflict, `sessionKey: ${reason}`);
    if (sessionKey === address.sessionKey) throw refuse("this is the conversation you are in");
    if (turn.askers.includes(sessionKey))
      throw refuse(`${sessionKey} has asked this conversation; answer it instead, with your reply`);
    if (await isWaitedFor(agent.table, address.sessionKey, sessionKey))
      throw refuse(`${sessionKey} already waits for this conversation`);
    const state = await readSession(agent.table, sessionKey);
    if (!state && turn.askers.length > 0)
      throw refuse(
        `there is no ${sessionKey}, and a conversation that another one asked cannot start a new one`,
      );
    if (!state && !startedByMessage.includes(sessionKind(sessionKey, rules)))
      throw new PeerError(
        code.notFound,
        `sessionKey: there is no conversation ${sessionKey}; gsv__SessionsList lists them`,
      );
    const isBusy = state !== undefined && (state.run !== undefined || isLeased(state, agent.now()));
    return { send: { sessionKey, message, waitSeconds, queued: isBusy || (state?.inbox.length ?? 0) > 0 } };
  },
});

export const configGet = nativeTool({
  name: "gsv__ConfigGet",
  description:
    "Read the gateway's configuration, whole or at a path such as session.dmScope. Secrets are masked.",
  arguments: { path: v.optional(v.pipe(v.string(), v.maxLength(512))) },
  repeatable: true,
  forGuests: false,
  async run(args, { agent, turn }) {
    checkConfigurationReadable(turn.audience);
    return { ok: true, result: await agent.configuration.get(args.path || undefined) };
  },
});

export const logsGet = nativeTool({
  name: "gsv__LogsGet",
  description: "Read the latest log lines of a node. Omit nodeId if only one is connected.",
  arguments: { nodeId: v.optional(v.string()), lines: v.optional(count(1, 5000)) },
  repeatable: true,
  forGuests: false,
  asksNode: true,
  async run(args, { turn }) {
    const node = chooseNode(turn.nodes, args.nodeId);
    return { ask: { nodeId: node.id, event: "logs.get", payload: { lines: args.lines ?? 100 } } };
  },
});
