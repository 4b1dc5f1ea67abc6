import { clientParams, nodeParams, openClient, openNode, Peer } from "../../support/peer.ts";
import { until } from "../../support/until.ts";
import { platformAccounts } from "../deliveries/platform-keys.ts";
import type { Target } from "./target.ts";
import { scratchAgent, victim } from "./victim-names.ts";

/** What attackers know: their own tokens, and the names of others' things. */
export interface Facts {
  tokens: { client: string; node: string; bridge: string };
  /** The bridge's channel. */
  channel: string;
  /** A tool of the attackers' own node. It answers. */
  tool: string;
  /** The node of that tool. */
  node: string;
  /** Names of the victim's things: keys, ids, paths. None of them is a secret. */
  names: string[];
  /** Texts that no attacker may receive. A client token is the owner's, so it may receive those of `forOwner`. */
  canaries: string[];
  forOwner: string[];
}

/** The connected victim with a running tool call. */
export interface Victim {
  facts: Facts;
  /** Requests to the victim's node since the setup. */
  asked(): unknown[];
  /** Whether both of the victim's sockets are still open. */
  isConnected(): boolean;
  /** Answers the running call. @returns the conversation's last text */
  finish(): Promise<string>;
  close(): void;
}

export const bridgeChannel = "ferry";

/**
 * Sets up the gateway with its own protocol: for the owner an agent, a conversation with a running tool call, files, a
 * secret and a pairing request; for the attackers an agent, a node and tokens without the scope admin.
 * @param platforms URL of the platforms' APIs
 */
export async function settleIn(target: Target, platforms: string): Promise<Victim> {
  const { ws, token } = target;
  const owner = await openClient(ws, token, victim.client);
  await configure(owner, target, platforms);
  const laptop = await openNode(ws, await tokenFor(owner, ["node"]), victim.node, { Bash: () => undefined });
  await owner.call("agent.init", { agentId: victim.agent });
  await owner.call("workspace.write", { agentId: victim.agent, path: "MEMORY.md", content: victim.wrote });
  await say(owner, `${victim.said}, hello`, "first");
  await owner.call("chat.send", { sessionKey: victim.session, message: "$ wait", runId: "second" });
  const call = await until(() => laptop.calls[0], "the victim's tool call is under way");
  const tokens = {
    client: await tokenFor(owner, ["client"]),
    node: await tokenFor(owner, ["node"]),
    bridge: await tokenFor(owner, ["channel"], { channel: bridgeChannel }),
  };
  const helper = await openNode(ws, tokens.node, "scratch-node", { echo: () => "heard" });
  helper.onEvent(({ event, payload }) => {
    if (event !== "logs.get") return;
    helper.send({
      type: "req",
      id: "logs",
      method: "logs.result",
      params: { ...(payload as object), lines: ["a line"] },
    });
  });
  // Use each token once, so that its record does not change later.
  for (const [mode, own] of [
    ["client", tokens.client],
    ["node", tokens.node],
  ] as const)
    await useOnce(ws, own, mode);
  const ids = (await owner.call<{ tokens: { id: string }[] }>("token.list")).tokens.map(({ id }) => id);
  laptop.events.length = 0;
  return {
    facts: {
      tokens,
      channel: bridgeChannel,
      tool: "scratch-node__echo",
      node: "scratch-node",
      names: victimNames(call.callId, ids),
      canaries: [victim.said, victim.wrote, victim.secret, token],
      forOwner: [victim.said, victim.wrote],
    },
    asked: () => laptop.events.filter(({ event }) => event === "tool.invoke" || event === "logs.get"),
    isConnected: () => !laptop.closed && !owner.closed,
    async finish() {
      await laptop.call("tool.result", {
        callId: call.callId,
        result: { status: "done", exitCode: 0, output: "done waiting" },
      });
      const goesOn = until(
        async () => (await lastText(owner)).match(/"role":"assistant".*done waiting/)?.[0],
      );
      return goesOn.catch(async () => {
        throw new Error(`the conversation does not go on; it ends with ${await lastText(owner)}`);
      });
    },
    close() {
      for (const peer of [owner, laptop, helper]) peer.socket.terminate();
    },
  };
}

function victimNames(callId: string, tokenIds: readonly string[]): string[] {
  const { agent, session, node, client } = victim;
  return [
    ...[
      session,
      ` ${session.toUpperCase()} `,
      `${session}:x`,
      agent,
      node,
      client,
      callId,
      `S#${session}`,
      "CONFIG",
      "TOKEN",
    ],
    ...[
      `agents/${agent}/MEMORY.md`,
      `../${agent}/MEMORY.md`,
      `x/../../${agent}/SOUL.md`,
      `${node}__Bash`,
      `apiKeys.${agent}`,
    ],
    ...[`/${agent}/MEMORY.md`, `..\\${agent}\\MEMORY.md`, `${agent}\u0000`, `${agent}/../${scratchAgent}`],
    ...tokenIds,
    ...callAddresses.map((address) => `s.${Buffer.from(JSON.stringify(address)).toString("base64url")}`),
  ];
}

/** Call ids in the gateway's form for calls that were never made: session, run, step and call. */
const callAddresses: readonly (readonly unknown[])[] = [
  [victim.session, "second", 1, ""],
  [victim.session, "second", 0, "constructor"],
  [victim.session, "second", 1, "__proto__"],
  [victim.session, "", -1, "x".repeat(1000)],
  [victim.session, "张".repeat(300), 1e308, "call_0"],
  ["", "", 0, ""],
  ["#", "second", 0.5, "a"],
  ["x".repeat(1200), "r", 0, "c"],
];

async function configure(owner: Peer, { model }: Target, platforms: string): Promise<void> {
  const settings: [string, unknown][] = [
    ["model", { provider: "openai-compatible", id: model.id, baseUrl: model.url }],
    ["apiKeys.keeper", victim.secret],
    ["agents.list", [{ id: scratchAgent, default: true }, { id: victim.agent }]],
    ["agents.defaultHeartbeat.every", "0m"],
    // The owner's data must not change by itself during the attack.
    ["session.defaultResetPolicy", { mode: "manual" }],
    ["session.dmScope", "per-account-channel-peer"],
    ["timeouts.toolMs", 3_600_000],
    [`channels.${bridgeChannel}`, { dmPolicy: "pairing", allowFrom: ["passenger"] }],
    ...Object.entries(platformAccounts(platforms)).map(
      ([name, channel]) => [`channels.${name}`, channel] as [string, unknown],
    ),
  ];
  for (const [path, value] of settings) await owner.call("config.set", { path, value });
}

async function tokenFor(owner: Peer, scopes: string[], more: object = {}): Promise<string> {
  const name = `${scopes[0]} ${Math.random().toString(36).slice(2)}`;
  return (await owner.call<{ token: string }>("token.create", { name, scopes, ...more })).token;
}

async function useOnce(url: string, token: string, mode: "client" | "node"): Promise<void> {
  const peer = await Peer.open(url, token);
  await peer.call(
    "connect",
    mode === "node" ? nodeParams("scratch-first", ["echo"]) : clientParams("scratch-first"),
  );
  peer.socket.terminate();
}

async function say(owner: Peer, message: string, runId: string): Promise<void> {
  await owner.call("chat.send", { sessionKey: victim.session, message, runId });
  await owner.event(
    (payload) => payload.runId === runId && payload.state === "final",
    "the victim is answered",
  );
}

async function lastText(owner: Peer): Promise<string> {
  const { messages } = await owner.call<{ messages: unknown[] }>("session.preview", {
    sessionKey: victim.session,
  });
  return JSON.stringify(messages.at(-1) ?? "");
}
