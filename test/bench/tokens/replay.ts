import { randomUUID } from "node:crypto";
import { describeHost, nodeTools } from "../../../cli/node/tools/offered.ts";
import type { Agent } from "../../../functions/agent/agent.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { bindPeer, dropConnection, openConnection } from "../../../shared/peers/registry.ts";
import { recordResult } from "../../../shared/session/calls.ts";
import type { InboxEntry, Origin } from "../../../shared/session/inbox-entry.ts";
import { heartbeatSessionKey } from "../../../shared/session/key/session-key.ts";
import { type Bench, openBench } from "../../agent/bench.ts";
import { startAnthropicServer } from "../../support/models/anthropic-server.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../../support/models/scripted-model.ts";
import { type MemoryState, startState } from "../../support/state.ts";
import { type DayEvent, textOf } from "./day.ts";
import { dollars, idealDollars, prices, type Sent, type Wire } from "./prices.ts";
import { anthropicCache, openAiCache, type PromptCache } from "./prompt-caches.ts";

/** What a day costs on one provider, and how much of what it sends is new to the provider. */
export interface DayBill {
  requests: number;
  /** Tokens of all requests, and the share of them that was not read from the cache. */
  tokens: number;
  newShare: number;
  usd: number;
  idealUsd: number;
}

const agentId = "main";
const mainKey = "agent:main:main";
const secondMs = 1000;
const start = Date.parse("2026-11-23T07:00:00Z");

const models = {
  anthropic: { provider: "anthropic", id: "claude-sonnet-4-5" },
  openai: { provider: "openai-compatible", id: "gpt-5", contextWindow: 400_000 },
} as const;

const workspace = {
  "SOUL.md": textOf(1800, 1),
  "IDENTITY.md": "Name: Ada\nEmoji: 🦉\n",
  "USER.md": textOf(900, 2),
  "AGENTS.md": textOf(2500, 3),
  "MEMORY.md": `- ${textOf(1500, 4).replaceAll(". ", ".\n- ")}\n`,
  "TOOLS.md": textOf(600, 5),
  "HEARTBEAT.md": `- ${textOf(300, 6)}\n`,
};

/** Replays a day: the agent's own code and the provider's wire format, with a virtual clock. */
export async function replay(events: readonly DayEvent[], wire: Wire): Promise<DayBill> {
  const state = await startState();
  for (const [name, text] of Object.entries(workspace))
    await state.bucket.put(`agents/${agentId}/${name}`, Buffer.from(text));
  const day = new Day(state, wire);
  await day.open();
  try {
    for (const event of events) await day.live(event);
    return day.bill();
  } finally {
    await day.close();
  }
}

class Day {
  readonly #state: MemoryState;
  readonly #wire: Wire;
  readonly #cache: PromptCache;
  readonly #sent: Sent[] = [];
  #bench!: Bench;
  #agent!: Agent;
  #server!: ModelServer;
  #replies: Reply[] = [];
  #session = mainKey;
  #usd = 0;
  #new = 0;
  #count = 0;
  #connection = 0;
  #connectedAt = Number.POSITIVE_INFINITY;

  constructor(state: MemoryState, wire: Wire) {
    this.#state = state;
    this.#wire = wire;
    this.#cache = wire === "anthropic" ? anthropicCache() : openAiCache();
  }

  async open(): Promise<void> {
    const serve = this.#wire === "anthropic" ? startAnthropicServer : startOpenAiServer;
    this.#server = await serve((request) => this.#answer(request));
    this.#bench = openBench(this.#state, { ...models[this.#wire], baseUrl: this.#server.url });
    this.#bench.later = start - Date.now();
    this.#agent = this.#bench.agent();
    await this.#connectNode();
  }

  async close(): Promise<void> {
    await this.#server.close();
    await this.#state.close();
  }

  bill(): DayBill {
    const tokens = this.#sent.reduce((sum, { total }) => sum + total, 0);
    return {
      requests: this.#sent.length,
      tokens: Math.round(tokens),
      newShare: this.#new / tokens,
      usd: this.#usd,
      idealUsd: idealDollars(this.#sent, prices[this.#wire]),
    };
  }

  async live(event: DayEvent): Promise<void> {
    this.#moveTo(event.at);
    this.#count += 1;
    // API Gateway ends a connection after two hours, and the node connects again.
    if (this.#agent.now() - this.#connectedAt > 3_600_000) await this.#connectNode();
    if ("node" in event) await (event.node === "leaves" ? this.#disconnectNode() : this.#connectNode());
    else if ("beat" in event)
      await this.#converse(heartbeatSessionKey(agentId), "Check HEARTBEAT.md.", ["HEARTBEAT_OK"]);
    else if ("cron" in event)
      await this.#converse("agent:main:cron:report", textOf(event.cron, this.#count), [
        textOf(event.answer, this.#count),
      ]);
    else {
      const answers: Reply[] = event.remember ? [this.#remember()] : [];
      for (let step = 0; step < (event.steps ?? 0); step++) answers.push(this.#toolCall(step));
      answers.push({ text: textOf(event.answer, this.#count + 1000) });
      await this.#converse(mainKey, textOf(event.say, this.#count), answers, event);
    }
  }

  /** Submits a message and runs the agent until it is answered; a node answers its calls at once. */
  async #converse(
    sessionKey: string,
    text: string,
    answers: (Reply | string)[],
    { via, result = 0 }: { via?: "telegram"; result?: number } = {},
  ): Promise<void> {
    this.#session = sessionKey;
    this.#replies = answers.map((answer) => (typeof answer === "string" ? { text: answer } : answer));
    const entry = { kind: "message", id: randomUUID(), at: this.#agent.now(), origin: originOf(via), text };
    await this.#bench.submit(sessionKey, entry as InboxEntry);
    for (;;) {
      await holdSession(this.#agent, sessionKey, () => 900_000);
      const { run } = await this.#bench.state(sessionKey);
      if (!run) break;
      await this.#answerCalls(sessionKey, run, result);
    }
    if (this.#replies.length > 0)
      throw new Error(`${this.#replies.length} replies are left at ${this.#agent.now()}`);
  }

  async #answerCalls(
    sessionKey: string,
    { runId, step, pending }: { runId: string; step: number; pending: object },
    size: number,
  ): Promise<void> {
    const { table, bucket } = this.#state;
    for (const callId of Object.keys(pending)) {
      const outcome = {
        result: { content: [{ type: "text", text: textOf(size, step * 31 + this.#count) }] },
      };
      await recordResult(
        { table, bucket },
        { sessionKey, runId, step, callId },
        "laptop",
        outcome,
        this.#agent.now(),
      );
    }
  }

  /** Answers a request of the agent and bills it. Each request takes some seconds. */
  #answer({ body, tools }: ModelRequest): Reply {
    const reply = this.#replies.shift();
    if (!reply) return { error: { status: 400, message: "no reply is left" } };
    const now = this.#agent.now();
    const billed = this.#cache.bill(body, now);
    const output = JSON.stringify(reply).length / 4;
    const { read, write, writeLong, total } = billed;
    this.#usd += dollars(billed, output, prices[this.#wire]);
    this.#new += total - read;
    const { messages, ...fixed } = body as { messages: { role: string }[] };
    const system = messages.filter(({ role }) => role === "system" || role === "developer");
    const fixedTokens = Buffer.byteLength(JSON.stringify([fixed, system])) / 4;
    this.#sent.push({ session: this.#session, at: now, total, fixed: Math.min(total, fixedTokens), output });
    this.#bench.later += 6 * secondMs;
    const usage = { input: Math.round(total - read - write - writeLong), cacheRead: Math.round(read) };
    const call = reply.toolCalls?.[0];
    const isOffered = call === undefined || tools.includes(call.name);
    return {
      ...reply,
      ...(isOffered ? {} : { toolCalls: [readFile] }),
      usage: { ...usage, cacheWrite: Math.round(write + writeLong) },
    };
  }

  #remember(): Reply {
    const content = textOf(90, this.#count);
    return { toolCalls: [{ name: "gsv__memory", arguments: { action: "remember", content } }] };
  }

  #toolCall(step: number): Reply {
    const command = `rg -n ${textOf(40, step + this.#count)} src`;
    return { text: textOf(60, step), toolCalls: [{ name: "laptop__Bash", arguments: { command } }] };
  }

  async #connectNode(): Promise<void> {
    const connectionId = `laptop-${++this.#connection}`;
    const { table } = this.#state;
    const now = this.#agent.now();
    this.#connectedAt = now;
    const record = { connectionId, openedAt: now, frames: 0 };
    await openConnection(table, record);
    await bindPeer(table, record, {
      id: "laptop",
      mode: "node",
      connectionId,
      tokenId: "t",
      connectedAt: now,
      version: "1",
      platform: "linux",
      tools: nodeTools.map(({ definition }) => definition),
      runtime: describeHost({ HOME: "/home/ada", PATH: "/usr/bin", EDITOR: "vi" }, "linux"),
    });
  }

  async #disconnectNode(): Promise<void> {
    this.#connectedAt = Number.POSITIVE_INFINITY;
    await dropConnection(this.#state.table, `laptop-${this.#connection}`, this.#agent.now());
  }

  #moveTo(minutes: number): void {
    const at = start + minutes * 60 * secondMs;
    this.#bench.later = Math.max(this.#bench.later, at - Date.now());
  }
}

const readFile = { name: "gsv__ReadFile", arguments: { path: "AGENTS.md" } };

function originOf(via: "telegram" | undefined): Origin {
  if (via === undefined) return { kind: "client" };
  return { kind: "channel", channel: via, accountId: "default", peer: { kind: "dm", id: "42" } };
}
