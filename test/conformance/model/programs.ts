import "../../support/loaded-later.ts";
import type { Agent } from "../../../functions/agent/agent.ts";
import { createHistory } from "../../../functions/agent/context/history.ts";
import type { CallModel } from "../../../functions/agent/model/model-call.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { acceptResult } from "../../../functions/socket/calls/node-calls.ts";
import type { Gateway } from "../../../functions/socket/gateway.ts";
import { sweep } from "../../../functions/timer/sweep.ts";
import { expireTools, type Timer } from "../../../functions/timer/timer.ts";
import { createMemoryStore } from "../../../local/items/item-store.ts";
import { createMemoryTable, tableOver } from "../../../local/world/local-table.ts";
import { answerRequest } from "../../../shared/approvals/answer.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import type { ConfigurationStore } from "../../../shared/configuration/store.ts";
import {
  type AssistantMessage,
  type Message,
  type ToolCallBlock,
  textOf,
  toolCallsOf,
} from "../../../shared/protocol/messages.ts";
import { decodeCallAddress } from "../../../shared/session/call-address.ts";
import { submitMessage } from "../../../shared/session/intake.ts";
import { openBook } from "../../../shared/spend/book.ts";
import type { Bucket, Item, ItemValue, Table, TimerEvent } from "../../../shared/world/world.ts";
import { noteSent } from "../said.ts";
import { bucketOver } from "./bucket.ts";
import type { Program, Surroundings } from "./process.ts";
import { sessionKey } from "./snapshot.ts";

/** The node that receives all tool calls. It is always connected. */
const node = {
  pk: "PEER#node",
  sk: "n",
  expiresAt: Number.MAX_SAFE_INTEGER,
  id: "n",
  mode: "node",
  connectionId: "n-1",
  tokenId: "t",
  connectedAt: 0,
  version: "1",
  platform: "test",
  tools: ["probe", "ask"].map((name) => ({ name, description: "", inputSchema: { type: "object" } })),
};
const token = { pk: "TOKEN", sk: "t", hash: "00" };
const peers = tableOver(createMemoryStore([node, token]));

/** Tools time out at once, so a timeout can come at any moment after the dispatch. */
const settings: Configuration = {
  ...defaults,
  model: { provider: "scripted", id: "scripted", contextWindow: 100_000 },
  timeouts: { ...defaults.timeouts, toolMs: 0 },
  session: { ...defaults.session, defaultResetPolicy: { mode: "manual" } },
  compaction: { ...defaults.compaction, extractMemories: false },
  toolApproval: {
    ...{ ...defaults.toolApproval, remindAfter: "0", expireAfter: "1m" },
    rules: [{ id: "ask", tool: "n__ask", decision: "ask" }],
  },
};

/**
 * The table as a function sees it. The connected peers do not change, the scenarios' answers make no grants, and
 * no memories are extracted, so reading these is not a step of the check; nor is writing the log of decisions, which no decision reads. A request's own item keeps
 * its first contents: how it ended only changes the reply to an answer that comes too late, and an answer may come at any
 * time.
 */
function tableOf({ table }: Surroundings): Table {
  const of = (pk: string) => (/^(PEER#|TOKEN$|DECISIONS#|POLICY$|EXTRACT#)/.test(pk) ? peers : table);
  return {
    ...table,
    get: (key) => of(key.pk).get(key),
    query: (query) => of(query.pk).query(query),
    put: (item, condition) => of(item.pk).put(item, condition),
    update: async (key, ...change) => (key.pk.startsWith("AP#") ? { ...key } : table.update(key, ...change)),
    delete: async (key, condition) => (key.pk === "APPROVAL" ? undefined : table.delete(key, condition)),
  };
}

function intakeOf(surroundings: Surroundings) {
  const wake = async () => void (await surroundings.ask({ to: "agent" }));
  const configuration = only<ConfigurationStore>("configuration", {
    load: async () => settings,
    version: () => 1,
  });
  const bucket = only<Bucket>("bucket", bucketOver(surroundings.table, surroundings.whileLocal));
  return { table: tableOf(surroundings), bucket, wake, configuration, now: surroundings.now };
}

/** Sends messages and commands one after the other; the text of each is its id. */
export function sender(...ids: string[]): Program {
  noteSent(ids);
  return {
    name: `sender of ${ids.join(", ")}`,
    async run(surroundings) {
      for (const id of ids) {
        surroundings.forget(id);
        const asked = id.startsWith("/") ? { connectionId: "c-1", requestId: id } : {};
        const incoming = { id, text: id, origin: { kind: "client", ...asked }, writer: {} } as const;
        await submitMessage(intakeOf(surroundings), sessionKey, incoming);
      }
    },
  };
}

/**
 * The owner's answer to every request that is open when it arrives; nothing if none is.
 * @param of the index of the only request that it answers
 */
export function answer(decision: "allow" | "deny", by = "a", of?: number): Program {
  return {
    name: `${decision} by ${by}${of === undefined ? "" : ` to request ${of}`}`,
    async run(surroundings) {
      const intake = intakeOf(surroundings);
      const all = await intake.table.query({ pk: "APPROVAL" });
      const open = of === undefined ? all : all.slice(of, of + 1);
      for (const [i, { sk: id }] of open.entries()) {
        surroundings.forget(open.slice(i).map(({ sk }) => sk));
        const given = { decision, by, scope: "once", at: intake.now() } as const;
        await answerRequest(intake, String(id), given);
      }
    },
  };
}

/** The node's answer to a call, in the socket function; for a message "tool-large…" the result is a separate item. */
export function toolResult(callId: string): Program {
  const address = decodeCallAddress(callId);
  const result = address?.runId.startsWith("tool-large") ? "found".repeat(1000) : "found";
  return {
    name: `result of ${callId}`,
    run: (surroundings) =>
      acceptResult(only<Gateway>("gateway", intakeOf(surroundings)), "n", callId, { result }),
  };
}

function schedulesOf({ ask }: Surroundings): Timer["schedules"] {
  return { once: async (name, _, event) => void (await ask({ to: "scheduler", name, event })) };
}

/** The node did not announce that it cancels calls, so it receives no cancellation. */
function timerOf(surroundings: Surroundings): Timer {
  return only<Timer>("timer", {
    ...intakeOf(surroundings),
    sockets: only<Timer["sockets"]>("timer.sockets", {}),
    // Any number of agents may run.
    slots: undefined,
    schedules: schedulesOf(surroundings),
  });
}

/** The timer function, invoked by a schedule. */
export function toolTimeout(event: Extract<TimerEvent, { kind: "tool-timeout" }>): Program {
  return {
    name: `timeout of ${event.runId}/${event.step} at ${event.deadline}`,
    run: (surroundings) => expireTools(timerOf(surroundings), event),
  };
}

export const sweeper: Program = {
  name: "sweep",
  run: (surroundings) => sweep(timerOf(surroundings)),
};

export function isAgent({ name }: Program): boolean {
  return name.startsWith("agent");
}

export interface AgentOptions {
  /** Steps of the session after which its time is up and it hands over. */
  steps?: number;
  /** Whether the model's answer takes time, during which other processes can act. */
  isSlow?: boolean;
  /** Whether the node's connection ends between the prompt and the call. */
  isNodeGone?: boolean;
}

/** The agent function. */
export function agent(options: AgentOptions = {}): Program {
  const { steps = Number.POSITIVE_INFINITY, isSlow = false, isNodeGone = false } = options;
  const traits = [
    ...(options.steps === undefined ? [] : [`with time for ${steps}`]),
    ...(isSlow ? ["with a slow model"] : []),
    ...(isNodeGone ? ["whose node is gone"] : []),
  ];
  return {
    name: ["agent", ...traits].join(" "),
    async run(surroundings) {
      let left = steps;
      const watched = watch(surroundings);
      const timeLeft = () => {
        // A slow agent may have seen a stop, which is not part of its declared knowledge.
        if (!isSlow) surroundings.forget([left, watched.knowledge()]);
        return left-- > 0 ? Number.POSITIVE_INFINITY : 0;
      };
      await holdSession(agentIn(watched.surroundings, isSlow, isNodeGone), sessionKey, timeLeft);
    },
  };
}

/**
 * Records what an agent knows between two steps, when `holdSession` asks for the time: the session as it last saw it,
 * the messages that it has read or written, and the calls that it has sent.
 */
function watch(surroundings: Surroundings) {
  const messages = new Map<string, ItemValue>();
  const sent = new Set<string>();
  let session: Item | undefined;
  const see = (item: Item | undefined) => {
    if (item?.sk === "META") session = item;
    if (String(item?.sk).startsWith("M#")) messages.set(String(item?.sk), item?.body ?? null);
    return item;
  };
  const { table } = surroundings;
  const watched: Surroundings = {
    ...surroundings,
    table: {
      ...table,
      get: async (key) => see(await table.get(key)),
      put: async (item, condition) => {
        await table.put(item, condition);
        see(item);
      },
      update: async (...args) => see(await table.update(...args)) as Item,
      query: async (query) => {
        const items = await table.query(query);
        for (const item of items) see(item);
        return items;
      },
    },
    ask: (request) => {
      if (request.to === "node") sent.add(request.callId);
      return surroundings.ask(request);
    },
  };
  const seen = () => [...messages].sort(([a], [b]) => (a < b ? -1 : 1));
  // The owner's own id differs between runs.
  const knowledge = () => [session && { ...session, owner: undefined }, seen(), [...sent].sort()];
  return { surroundings: watched, knowledge };
}

function agentIn(surroundings: Surroundings, isSlow: boolean, isNodeGone: boolean): Agent {
  const { ask, report } = surroundings;
  const intake = intakeOf(surroundings);
  const post: Agent["sockets"]["post"] = async (_, frame) => {
    if (frame.type === "res") report(`answered ${frame.id}`);
    if (frame.type !== "evt") return "sent";
    if (isNodeGone) return "gone";
    await ask({ to: "node", callId: String((frame.payload as { callId: string }).callId) });
    return "sent";
  };
  const told = (event: string, payload: unknown) => {
    const { state, runId } = payload as { state?: string; runId: string };
    if (event === "chat" && state !== "partial" && state !== "calls") report(`${state} ${runId}`);
  };
  return only<Agent>("agent", {
    ...intake,
    // `test/spend` explores what sessions pay. The model's calls cost nothing here.
    book: openBook({ ...intake, table: createMemoryTable(), tell: async () => {} }),
    sockets: { post, close: async () => {} },
    schedules: schedulesOf(surroundings),
    broadcast: only<Agent["broadcast"]>("broadcast", {
      clients: async () => [],
      send: async (_, event, payload) => told(event, payload),
    }),
    prompts: only<Agent["prompts"]>("prompts", {
      load: async () => ({ files: {}, origins: [], skills: [] }),
    }),
    // The text of a prompt is stored under its hash, so its writer and the number of writes make no difference.
    promptCache: { store: async () => {}, read: async () => undefined, steps: () => [] },
    history: createHistory(intake),
    // No MCP server is configured.
    remoteTools: only<Agent["remoteTools"]>("remoteTools", { prepare: () => {}, offered: async () => [] }),
    // Reads that no step waits for.
    reminders: { prepare: () => {}, find: async () => undefined, refresh: () => {} },
    callModel: modelIn(surroundings, isSlow),
    // No message here comes from a channel, where this would be a call.
    channels: only<Agent["channels"]>("channels", {
      conclude: async () => {},
      close: async () => {},
      mark: async () => {},
    }),
  });
}

/**
 * A model that calls the node's tool once for a message that begins with "tool", or once or twice the tool that the owner has
 * to allow for one that begins with "ask" or "twice", and answers every message.
 */
function modelIn({ ask, report }: Surroundings, isSlow: boolean): CallModel {
  return async ({ messages, signal }) => {
    const fault = transcriptFault(messages);
    if (fault) report(`fault: the model gets a transcript in which ${fault}`);
    if (isSlow) await ask({ to: "model" });
    if (signal.aborted) return { status: "aborted" };
    return { status: "answered", message: answerTo(messages) };
  };
}

function answerTo(messages: readonly Message[]): AssistantMessage {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const question = messages[at];
  const text = question ? textOf(question) : "";
  if (text.includes("<conversation>"))
    return {
      role: "assistant",
      content: [{ type: "text", text: "<summary>so far</summary>" }],
      timestamp: 0,
    };
  const isAnswered = messages.slice(at).some(({ role }) => role === "toolResult");
  const calls = isAnswered ? [] : callsFor(text);
  const content = calls.length > 0 ? calls : [{ type: "text" as const, text: `answer to ${text}` }];
  return { role: "assistant", content, timestamp: 0 };
}

function callsFor(text: string): ToolCallBlock[] {
  const call = (name: string, of: number) =>
    ({ type: "toolCall", id: `call-${text}-${of}`, name, arguments: { of } }) as const;
  if (text.startsWith("twice")) return [call("n__ask", 1), call("n__ask", 2)];
  if (text.startsWith("ask")) return [call("n__ask", 1)];
  return text.startsWith("tool") ? [{ ...call("n__probe", 1), id: `call-${text}`, arguments: {} }] : [];
}

/** The reasons for which a provider would refuse: a call without its results directly after it, or a result without its call. */
export function transcriptFault(messages: readonly Message[]): string | undefined {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === "toolResult") {
      if (!open.includes(message.toolCallId)) return "a result has no call";
      open = open.filter((id) => id !== message.toolCallId);
      continue;
    }
    if (open.length > 0) return "a call has no result";
    open = toolCallsOf(message).map(({ id }) => id);
  }
  return open.length > 0 ? "a call has no result" : undefined;
}

/** The given dependencies. Access to any other one throws instead of returning `undefined`. */
export function only<T extends object>(name: string, parts: Partial<T>): T {
  const get = (target: object, property: string | symbol) => {
    if (!(property in target)) throw new Error(`the check has no ${name}.${String(property)}`);
    return Reflect.get(target, property);
  };
  return new Proxy(parts, { get }) as T;
}
