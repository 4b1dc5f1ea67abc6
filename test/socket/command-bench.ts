import type { Agent } from "../../functions/agent/agent.ts";
import type { ModelCall } from "../../functions/agent/model/model-call.ts";
import type { ResponseFrame } from "../../shared/protocol/frames.ts";
import { type AssistantMessage, type Message, textOf } from "../../shared/protocol/messages.ts";
import type { ExecEvent } from "../../shared/protocol/schemas.ts";
import type { Origin, Task, Writer } from "../../shared/session/inbox-entry.ts";
import type { Table } from "../../shared/world/world.ts";
import { type Bench, type Life, openBench } from "../agent/bench.ts";
import { nodeParams } from "../support/peer.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
import { type MemoryState, startState } from "../support/state.ts";

/** The origin and the sender of a message. */
type From = { origin?: Origin; task?: Task } & Writer;

type Block = AssistantMessage["content"][number];

/** The node that runs the commands, and the id of its connection. */
const nodeId = "laptop";

/**
 * A session whose model starts background commands on a node. The test is the node. Socket function and agent are the real
 * ones, over one table in memory; only the test wakes the agent.
 */
export class CommandBench {
  state!: MemoryState;
  world!: SocketWorld;
  bench!: Bench;
  /** The model's answer to the result of a call; by default that the command runs. */
  afterResult: (text: string) => Block = () => said("it runs");
  sessionKey = "";
  #gateway!: SocketFunction;
  #sessions = 0;
  #sent = 0;
  #connection = "";
  #connections = 0;
  #modelCalls = 0;
  readonly #tokens = new Map<string, string>();

  async start(): Promise<void> {
    this.#open(await startState());
    await this.reconnect();
  }

  /** The same session and connected node over a copy of the state: changes there have no effect here. */
  copy(): CommandBench {
    const copy = new CommandBench();
    copy.#open(this.state.copy());
    copy.sessionKey = this.sessionKey;
    copy.bench.later = this.bench.later;
    copy.world.clock.later = this.world.clock.later;
    for (const [id, token] of this.#tokens) copy.#tokens.set(id, token);
    copy.#sent = this.#sent;
    copy.#connection = this.#connection;
    copy.#connections = this.#connections;
    copy.#modelCalls = this.#modelCalls;
    return copy;
  }

  #open(state: MemoryState): void {
    this.state = state;
    this.bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: "http://localhost" });
    const { agent } = this.bench;
    this.bench.agent = (life): Agent => ({ ...agent(life), callModel: this.#answer });
    this.world = openSocketWorld(state);
    this.redeploy();
  }

  readonly #answer: Agent["callModel"] = async ({ messages }: ModelCall) => {
    const content = [this.#reply(messages.at(-1)!)];
    return { status: "answered", message: { role: "assistant", content, timestamp: this.world.now() } };
  };

  #reply(last: Message): Block {
    const text = textOf(last);
    if (last.role === "toolResult") return this.afterResult(text);
    if (text.includes("System event")) return said("so it ended");
    return this.call("Bash", { command: "make", background: true });
  }

  /** A model's call of one of the node's tools. */
  call(tool: "Bash" | "Process", args: object): Block {
    const id = `call_${++this.#modelCalls}`;
    return { type: "toolCall", id, name: `${nodeId}__${tool}`, arguments: args };
  }

  async close(): Promise<void> {
    await this.state?.close();
  }

  /** Connects the node on a new socket. @param process the process of the node, if it names one */
  async reconnect(process?: string): Promise<void> {
    this.#connection = `n-${++this.#connections}`;
    await this.connect(this.#connection, nodeId, process);
  }

  /** The node's current socket. */
  get connection(): string {
    return this.#connection;
  }

  /** Reports that a socket has ended. */
  end(connectionId = this.#connection): Promise<void> {
    return this.#gateway.end(connectionId);
  }

  /** Connects a node. */
  async connect(connectionId: string, id: string, process?: string): Promise<void> {
    const token = this.#tokens.get(id) ?? (await this.world.token(["node"])).token;
    this.#tokens.set(id, token);
    await this.#gateway.open(connectionId, token);
    const params = nodeParams(id, ["Bash", "Process"]);
    const client = { ...params.client, ...(process === undefined ? {} : { instance: process }) };
    await this.#gateway.request(connectionId, "connect", { ...params, client });
  }

  /** A cold start of the socket function. */
  redeploy(table?: Table): void {
    this.#gateway = this.world.start(table);
  }

  /** A request of a node. @returns its response; undefined when none was sent */
  async request(
    method: "tool.result" | "node.exec.event",
    params: object,
    connectionId = this.#connection,
  ): Promise<ResponseFrame | undefined> {
    const before = this.world.posted.get(connectionId)?.length ?? 0;
    await this.#gateway.request(connectionId, method, params);
    const [answer] = this.world.posted.get(connectionId)?.slice(before) ?? [];
    return answer?.type === "res" ? answer : undefined;
  }

  /** Sends a message to a session, by default a new one. @returns the resulting call that the node gets */
  async command(from: From = {}, sessionKey?: string): Promise<string> {
    const kind = from.origin?.kind === "channel" ? `${from.origin.channel}:group:` : "exec-";
    this.sessionKey = sessionKey ?? `agent:main:${kind}${++this.#sessions}`;
    await this.say("build it", from);
    return this.lastCall();
  }

  /** The id of the node's last call. */
  lastCall(): string {
    const posted = this.bench.posted.findLast(({ connectionId }) => connectionId === this.#connection);
    return (posted!.frame as { payload: { callId: string } }).payload.callId;
  }

  async say(text: string, { origin = { kind: "client" }, ...more }: From = {}) {
    const entry = {
      id: `m-${++this.#sent}`,
      at: this.world.now(),
      kind: "message",
      text,
      origin,
      ...more,
    } as const;
    await this.bench.submit(this.sessionKey, entry);
    await this.work();
  }

  /** The node's answer to the call: the command runs. */
  running(callId: string): Promise<ResponseFrame | undefined> {
    const result = { status: "running", sessionId: `command of ${callId}`, pid: 7 };
    return this.request("tool.result", { callId, result });
  }

  /** Starts a command and leaves the session idle. @returns the end of the command, as the node reports it */
  async background(from: From = {}, sessionKey?: string): Promise<ExecEvent> {
    const callId = await this.command(from, sessionKey);
    const answer = await this.running(callId);
    if (!answer?.ok) throw new Error(`the result was not taken: ${JSON.stringify(answer)}`);
    await this.work();
    return this.endOf(callId);
  }

  endOf(callId: string): ExecEvent {
    return {
      ...{ eventId: `end of ${callId}`, sessionId: `command of ${callId}`, event: "finished", callId },
      ...{ exitCode: 0, outputTail: "built\n", startedAt: 1, endedAt: 2 },
    };
  }

  /** Invokes the agent. False when it was killed. */
  async work(life?: Life): Promise<boolean> {
    const isWhole = await this.bench.invoke(this.sessionKey, life);
    this.world.clock.later = this.bench.later;
    return isWhole;
  }

  messages(): Promise<Message[]> {
    return this.bench.live(this.sessionKey);
  }

  /** The session's messages that report an end, and the model's answers to them. */
  async told(): Promise<string[]> {
    const texts = (await this.messages()).map(textOf);
    return texts.filter((text) => text.startsWith("System event") || text === "so it ended");
  }
}

/** A text of the model. */
export function said(text: string): Block {
  return { type: "text", text };
}
