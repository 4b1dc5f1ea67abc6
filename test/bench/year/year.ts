import { randomUUID } from "node:crypto";
import type { Agent } from "../../../functions/agent/agent.ts";
import type { CallModel, ModelCall } from "../../../functions/agent/model/model-call.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { dream } from "../../../functions/timer/dream.ts";
import type { Timer } from "../../../functions/timer/timer.ts";
import { createMemoryStore, type ItemStore } from "../../../local/items/item-store.ts";
import { itemSize } from "../../../local/items/item-validation.ts";
import { tableOver } from "../../../local/world/local-table.ts";
import { readDream } from "../../../shared/dreaming/dream-state.ts";
import { loadSweep } from "../../../shared/dreaming/load-sweep.ts";
import { type AssistantMessage, textOf } from "../../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { type Bench, openBench } from "../../agent/bench.ts";
import { Bill, pricedBucket, pricedSchedules, pricedTable } from "../../heartbeat/priced-world.ts";
import { createMemoryBucket, type MemoryBucket } from "../../support/memory-bucket.ts";
import type { State } from "../../support/state.ts";

const hour = 3_600_000;
const day = 24 * hour;
const agentId = "main";
const sessionKey = "agent:main:main";

/** Topics that the person mentions repeatedly. */
const things =
  "boiler tea garden invoice holiday violin dentist passport printer bicycle novel allotment".split(" ");

/** The figures of one day. The price excludes the model; `modelTokens` are its input characters / 4. */
export interface DayFigures {
  calls: Record<string, number>;
  usd: number;
  modelTokens: number;
  /** The calls of the nightly sweep of memories. */
  sweepCalls: number;
  sweepUsd: number;
}

/** Counts and bytes of each folder of the bucket and each kind of item. */
export type Stored = Record<string, { count: number; bytes: number }>;

/** A year of one person with an agent that dreams, with a simulated clock and the agent's own code in memory. */
export class Year {
  readonly days: DayFigures[] = [];
  private readonly store: ItemStore = createMemoryStore();
  private readonly bucket: MemoryBucket = createMemoryBucket({}, async () => {});
  private readonly bill = new Bill();
  private readonly bench: Bench;
  private readonly first = Date.parse("2026-01-01T00:00:00Z");
  private readonly turns: number;
  private tokens = 0;
  private toolCalls = 0;

  constructor(turns: number) {
    this.turns = turns;
    const state = {
      table: pricedTable(tableOver(this.store), this.bill),
      bucket: pricedBucket(this.bucket, this.bill),
    } as State;
    this.bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: "http://localhost" });
    this.bench.configuration.dreaming.enabled = true;
    this.bench.configuration.session.defaultResetPolicy = { mode: "daily", atHour: 4 };
    this.bench.configuration.compaction.extractMemories = true;
  }

  /** Runs one more day: the night's sweep and reset, then the conversation, with functions that start cold. */
  async live(): Promise<void> {
    const start = this.first + this.days.length * day;
    const before = this.tokens;
    this.bill.clear();
    const agent = this.agent();
    const sweep = await this.night(start);
    this.moveTo(start + 4 * hour);
    await this.submit(agent, { kind: "reset", via: "policy" });
    for (let turn = 0; turn < this.turns; turn++) {
      this.moveTo(start + 9 * hour + turn * 20 * 60_000);
      await this.submit(agent, { kind: "message", text: this.say(turn) });
    }
    const { usd, calls } = this.bill;
    this.days.push({ usd, calls: Object.fromEntries(calls), modelTokens: this.tokens - before, ...sweep });
  }

  private async night(start: number): Promise<{ sweepCalls: number; sweepUsd: number }> {
    this.moveTo(start + 3 * hour);
    const { table, bucket, configuration, now } = this.agent();
    const schedules = pricedSchedules({ once: async () => {} }, this.bill);
    const sweepMemories = loadSweep({ table, bucket, schedules });
    const { nextAt } = await readDream(table, agentId);
    if (nextAt !== undefined)
      await dream({ table, configuration, sweepMemories, now } as unknown as Timer, { agentId, at: nextAt });
    const sweepCalls = [...this.bill.calls.values()].reduce((sum, count) => sum + count, 0);
    return { sweepCalls, sweepUsd: this.bill.usd };
  }

  /** The person's messages: one of four turns asks about the past, and one a day contains a memory. */
  private say(turn: number): string {
    const at = this.days.length * this.turns + turn;
    const thing = things[at % things.length] ?? "";
    if (turn === 1)
      return `Remember that the ${thing} of day ${this.days.length} is number ${at} in our list`;
    if (turn % 4 === 0)
      return `Recall what I told you about the ${thing}${turn % 8 === 0 ? "" : " and its number"}`;
    return `Today the ${thing} was on my mind, for the ${at}th time; ${"and so on, ".repeat(8)}that is all.`;
  }

  private agent(): Agent {
    return { ...this.bench.agent(), callModel: this.model };
  }

  private readonly model: CallModel = async (call) => {
    this.tokens += Math.round((call.systemPrompt.length + JSON.stringify(call.messages).length) / 4);
    return { status: "answered", message: this.reply(call) };
  };

  private reply({ messages }: ModelCall): AssistantMessage {
    const last = messages.at(-1);
    const text = last ? textOf(last) : "";
    const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 };
    const base = {
      role: "assistant",
      api: "a",
      provider: "p",
      model: "m",
      usage,
      timestamp: this.bench.agent().now(),
    };
    const answer = (content: unknown[], stopReason: string) =>
      ({ ...base, content, stopReason }) as unknown as AssistantMessage;
    if (text.includes("<memories>")) return answer([{ type: "text", text: this.memories() }], "stop");
    const said = last?.role === "user" ? text : "";
    const call = (args: object) =>
      answer(
        [{ type: "toolCall", id: `call-${++this.toolCalls}`, name: "gsv__memory", arguments: args }],
        "toolUse",
      );
    const [, query] = /(Recall what .*)/.exec(said) ?? [];
    if (query) return call({ action: "recall", query });
    const [, content] = /Remember that (.*)/.exec(said) ?? [];
    if (content) return call({ action: "remember", content });
    return answer([{ type: "text", text: "Noted, and what a day it is. ".repeat(6) }], "stop");
  }

  /** The memories that the model extracts from a day. */
  private memories(): string {
    const today = this.days.length;
    const lines = [0, 1, 2].map(
      (n) =>
        `- The ${things[(today * 3 + n) % things.length]} was seen to by Olsen on day ${today}, visit ${n + 1}`,
    );
    return `<summary>They talked.</summary><memories>${lines.join("\n")}</memories>`;
  }

  private async submit(agent: Agent, entry: object): Promise<void> {
    const base = { id: randomUUID(), at: agent.now(), origin: { kind: "client" } };
    await this.bench.submit(sessionKey, { ...base, ...entry } as InboxEntry);
    await holdSession(agent, sessionKey, () => 900_000);
  }

  private moveTo(at: number): void {
    this.bench.later = at - Date.now();
  }

  /** All stored data. Expired items are removed, as in DynamoDB. */
  stored(): Stored {
    const now = (this.first + this.days.length * day) / 1000;
    const found: Stored = {};
    const add = (name: string, bytes: number) => {
      const kind = found[name] ?? { count: 0, bytes: 0 };
      found[name] = { count: kind.count + 1, bytes: kind.bytes + bytes };
    };
    for (const item of this.store.all())
      if (Number(item.expiresAt ?? Number.POSITIVE_INFINITY) > now)
        add(
          `table ${String(item.pk).split("#")[0]}${String(item.pk).startsWith("S#") ? ` ${String(item.sk).split("#")[0]}` : ""}`,
          itemSize(item),
        );
    for (const key of this.bucket.keys()) {
      const [, , folder = "", ...rest] = key.split("/");
      add(
        `bucket ${rest.length > 0 ? `${folder}/` : folder}`,
        Buffer.byteLength(this.bucket.peek(key) ?? ""),
      );
    }
    return found;
  }
}
