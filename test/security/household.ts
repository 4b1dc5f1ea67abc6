import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LocalGateway, startLocalGateway } from "../../local/in-process-gateway.ts";
import { type ConfigurationStore, openConfiguration } from "../../shared/configuration/store.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import type { Scope } from "../../shared/protocol/methods.ts";
import { bridgeParams, type Outbound } from "../support/bridge.ts";
import { isReading } from "../support/models/model-window.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../support/models/scripted-model.ts";
import { clientParams, openNode, Peer } from "../support/peer.ts";

export const channel = "mychat";
/** Results of the node's tool and of its logs. */
export const ran = "the machine has run it";
/** Has the model run a command on the machine, and how it hears that it has no such tool. */
export const bash = "call laptop__Bash";
export const notFound = /Tool not found: laptop__Bash/;
export const logged = "a line of the machine's log";

/** A message on the channel: its sender and room. Without a room it is a direct message. */
export interface Message {
  from: string;
  text: string;
  room?: string;
}

/**
 * A gateway with an owner (olga), two guests (gus and gail), a node (laptop) and a bridge. Its model follows the last
 * message: `call {tool} {arguments as JSON}` calls a tool and answers with its result, `calls` and a list of
 * `{name, arguments}` makes all calls in one reply, `wait` answers after `release` was called; other text is echoed.
 */
export interface Household {
  gateway: LocalGateway;
  configuration: ConfigurationStore;
  model: ModelServer;
  /** Peers by their tokens' scopes. */
  /** `device`: got its token for a code of the approver. */
  peers: Record<"client" | "approver" | "device" | "node" | "bridge" | "admin", Peer>;
  /** Opens a socket without a token. The gateway closes it after three frames. */
  stranger(): Promise<Peer>;
  /** Calls that the node received. */
  calls: { tool: string }[];
  /** Delivers a message. @returns the gateway's answer to the bridge, and the message's id */
  bring(message: Message): Promise<{ status: string; sessionKey?: string; id: string }>;
  /** Delivers a message and waits for the reply to its sender; undefined if the sender was not admitted. */
  ask(message: Message): Promise<string | undefined>;
  /** The reply to a message. */
  told(id: string): Promise<string>;
  /** Sends a message as a client, and waits for the answer. */
  say(peer: Peer, sessionKey: string, text: string): Promise<string | undefined>;
  /** Lets the model answer waiting requests. */
  release(): void;
  /** The model's last request. */
  lastRequest(): ModelRequest;
  close(): Promise<void>;
}

export async function openHousehold(): Promise<Household> {
  const dir = await mkdtemp(join(tmpdir(), "gsv-household-"));
  let release = () => {};
  let gate = Promise.resolve();
  const shut = () => {
    gate = new Promise((resolve) => {
      release = resolve;
    });
  };
  shut();
  const model = await startOpenAiServer((request) => replyTo(request, () => gate));
  const gateway = await startLocalGateway({ dir, log: () => {} });
  const { table, secrets } = gateway.world;
  const configuration = openConfiguration(table, secrets);
  await configure(configuration, model.url);
  const tokenOf = async (scopes: Scope[], bound?: { channel: string }) =>
    (await createToken(table, { name: randomUUID(), scopes, ...bound }, Date.now())).token;
  const open = async (scopes: Scope[]) => {
    const peer = await Peer.open(gateway.ws, await tokenOf(scopes));
    await peer.call("connect", clientParams(scopes.join("-")));
    return peer;
  };
  const node = await openNode(gateway.ws, await tokenOf(["node"]), "laptop", { Bash: () => ran });
  answerLogs(node);
  const bridge = await Peer.open(gateway.ws, await tokenOf(["channel"], { channel }));
  await bridge.call("connect", bridgeParams(channel));
  const [client, admin] = [await open(["client"]), await open(["client", "admin"])];
  const approver = await open(["client", "approve"]);
  const device = await Peer.open(gateway.ws);
  const { code } = await approver.call<{ code: string }>("code.create", {});
  await device.call("connect", { ...clientParams("device"), auth: { code } });
  const peers = { client, approver, device, node, bridge, admin };
  const strangers: Peer[] = [];
  const bring: Household["bring"] = async ({ from, text, room }) => {
    const id = randomUUID();
    const peer = room === undefined ? { kind: "dm", id: from } : { kind: "group", id: room };
    const params = { channel, peer, sender: { id: from }, message: { id, text }, wasMentioned: true };
    return { ...(await bridge.call<{ status: string; sessionKey?: string }>("channel.inbound", params)), id };
  };
  const told = async (id: string) => {
    const isReply = ({ message }: Outbound) => message.replyToId === id;
    const find = () => saidBy(bridge).find(isReply)?.message.text;
    return bridge.seen(find, `message ${id} is answered`);
  };
  return {
    ...{ gateway, configuration, model, peers, calls: node.calls, bring, told },
    async stranger() {
      const peer = await Peer.open(gateway.ws);
      strangers.push(peer);
      return peer;
    },
    async ask(message) {
      const { status, id } = await bring(message);
      return status === "blocked" ? undefined : told(id);
    },
    async say(peer, sessionKey, message) {
      const runId = randomUUID();
      const answer = await peer.request("chat.send", { sessionKey, message, runId });
      if (!answer.ok) return undefined;
      if (answer.payload.status !== "started") return String(answer.payload.response ?? answer.payload.error);
      const ended = await admin.ended(runId);
      return JSON.stringify(ended.message ?? ended.error);
    },
    release() {
      release();
      shut();
    },
    lastRequest: () => model.requests.at(-1) as ModelRequest,
    async close() {
      for (const peer of [...Object.values(peers), ...strangers]) await peer.close();
      await gateway.close();
      await model.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function configure(configuration: ConfigurationStore, baseUrl: string): Promise<void> {
  const values: Record<string, unknown> = {
    model: { provider: "openai-compatible", id: "m", baseUrl },
    "session.defaultResetPolicy": { mode: "manual" },
    [`channels.${channel}`]: {
      dmPolicy: "allowlist",
      allowFrom: ["gus", "gail"],
      owners: ["olga"],
      groups: { workshop: { tools: "owner" }, kitchen: { tools: "all" } },
    },
  };
  for (const [path, value] of Object.entries(values)) await configuration.set(path, value);
}

async function replyTo(request: ModelRequest, released: () => Promise<void>): Promise<Reply> {
  if (isReading(request)) return { text: "<memories>\n- obey the room\n</memories>" };
  const { turns } = request;
  const last = turns.at(-1);
  if (last?.role === "tool") return { text: `it came of it: ${last.text}` };
  const text = last?.text.split("\n").at(-1) ?? "";
  if (text.startsWith("calls "))
    return { toolCalls: JSON.parse(text.slice("calls ".length)) as Reply["toolCalls"] };
  const [, name, args = "{}"] = /^call (\S+) ?(.*)$/.exec(text) ?? [];
  if (name !== undefined) return { toolCalls: [{ name, arguments: args }] };
  if (text.startsWith("wait")) await released();
  return { text: `heard: ${text}` };
}

function answerLogs(node: Peer): void {
  node.onEvent(({ event, payload }) => {
    if (event !== "logs.get") return;
    const { callId } = payload as { callId: string };
    void node.request("logs.result", { callId, lines: [logged] });
  });
}

function saidBy(bridge: Peer): Outbound[] {
  return bridge.events
    .filter(({ event }) => event === "channel.outbound")
    .map(({ payload }) => payload as Outbound);
}
