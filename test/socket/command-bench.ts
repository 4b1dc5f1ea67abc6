import type { ExecEvent } from "../../shared/protocol/exec-event-params.ts";
import type { ResponseFrame } from "../../shared/protocol/frames.ts";
import { type Message, textOf } from "../../shared/protocol/messages.ts";
import type { Origin, Task, Writer } from "../../shared/session/inbox-entry.ts";
import type { Table } from "../../shared/world/world.ts";
import { type Bench, type Life, openBench } from "../agent/bench.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../support/models/scripted-model.ts";
import { nodeParams } from "../support/peer.ts";
import { openSocketWorld, type SocketFunction, type SocketWorld } from "../support/socket-function.ts";
import { type State, startState } from "../support/state.ts";

/** What a message comes with. */
type From = { origin?: Origin; task?: Task } & Writer;

/** The node that runs the commands, and the id of its connection. */
const nodeId = "laptop";

/**
 * A session whose model starts commands in the background on a node. The test is the node. Socket function and agent are
 * the real ones, over one table in memory; nothing wakes the agent but the test.
 */
export class CommandBench {
  state!: State;
  world!: SocketWorld;
  bench!: Bench;
  model!: ModelServer;
  /** What the model answers to the result of a call; by default that the command runs. */
  afterResult: (text: string) => Reply = () => ({ text: "it runs" });
  sessionKey = "";
  #gateway!: SocketFunction;
  #sessions = 0;
  #sent = 0;
  #connection = "";
  #connections = 0;
  readonly #tokens = new Map<string, string>();

  async start(): Promise<void> {
    this.state = await startState();
    this.model = await startOpenAiServer(({ turns }) => {
      const { role, text } = turns.at(-1)!;
      if (role === "tool") return this.afterResult(text);
      if (text.includes("System event")) return { text: "so it ended" };
      return { toolCalls: [{ name: `${nodeId}__Bash`, arguments: { command: "make", background: true } }] };
    });
    this.bench = openBench(this.state, { provider: "openai-compatible", id: "m", baseUrl: this.model.url });
    this.world = openSocketWorld(this.state);
    this.#gateway = this.world.start();
    await this.reconnect();
  }

  async close(): Promise<void> {
    await this.state?.close();
    await this.model?.close();
  }

  /** Connects the node on a new socket. */
  async reconnect(): Promise<void> {
    this.#connection = `n-${++this.#connections}`;
    await this.connect(this.#connection, nodeId);
  }

  /** Connects a node. */
  async connect(connectionId: string, id: string): Promise<void> {
    const token = this.#tokens.get(id) ?? (await this.world.token(["node"])).token;
    this.#tokens.set(id, token);
    await this.#gateway.open(connectionId, token);
    await this.#gateway.request(connectionId, "connect", nodeParams(id, ["Bash", "Process"]));
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

  /** Says something in a session, by default a new one. @returns the call that the node gets for it */
  async command(from: From = {}, sessionKey?: string): Promise<string> {
    const kind = from.origin?.kind === "channel" ? `${from.origin.channel}:group:` : "exec-";
    this.sessionKey = sessionKey ?? `agent:main:${kind}${++this.#sessions}`;
    await this.say("build it", from);
    return this.lastCall();
  }

  /** The id of the call that the node got last. */
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

  /** What the node answers to the call: the command runs. */
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

  /** The texts of the session that tell of an end, and what the model said to them. */
  async told(): Promise<string[]> {
    const texts = (await this.messages()).map(textOf);
    return texts.filter((text) => text.startsWith("System event") || text === "so it ended");
  }
}
