import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { holdSession } from "../../functions/agent/session-loop.ts";
import { type LoopbackServer, readBody, serveLoopback } from "../../local/http/loopback.ts";
import { textOf } from "../../shared/protocol/messages.ts";
import type { InboxEntry } from "../../shared/session/inbox-entry.ts";
import { readDay } from "../../shared/spend/day-view.ts";
import { seededRandom } from "../support/random.ts";
import { startState } from "../support/state.ts";
import { immortal, openBench } from "./bench.ts";

/** `RUNS=100 npx vitest run test/agent/provider-ledger.test.ts` takes some minutes. */
const runs = Number(process.env.RUNS ?? 2);

const sessions = 20;
const limitMicros = 1_000_000;
/** μ$ per token. */
const price = { input: 3, output: 15 };

/** What the provider bills for a request, by its own books. */
interface Bill {
  input: number;
  output: number;
  /** The client left before the end: the output is what it was sent until then. */
  isAborted: boolean;
}

let provider: LoopbackServer;
let ledger: Bill[] = [];
let { integer } = seededRandom(1);
beforeAll(async () => {
  provider = await serveLoopback(async (request, response) => {
    const text = (await readBody(request, 2 ** 22))?.toString() ?? "";
    const { max_tokens, max_completion_tokens = max_tokens } = JSON.parse(text);
    const bill: Bill = { input: Math.ceil(text.length / 4), output: 0, isAborted: false };
    ledger.push(bill);
    response.on("close", () => {
      bill.isAborted = !response.writableFinished;
    });
    const output = 1 + integer(max_completion_tokens);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (chunk: object) => response.write(`data: ${JSON.stringify({ id: "c", ...chunk })}\n\n`);
    for (let part = 1; part <= 4 && !response.closed; part++) {
      await pause(integer(4));
      bill.output = Math.ceil((output * part) / 4);
      send({ choices: [{ index: 0, delta: { role: "assistant", content: "fine " } }] });
    }
    send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    const usage = { prompt_tokens: bill.input, completion_tokens: bill.output };
    send({ choices: [], usage: { ...usage, total_tokens: bill.input + bill.output } });
    response.end("data: [DONE]\n\n");
  });
});
afterAll(() => provider?.close());

const cost = ({ input, output }: Bill) => input * price.input + output * price.output;
const sum = (amounts: readonly number[]) => amounts.reduce((total, one) => total + one, 0);

/** Twenty sessions, each on an instance of its own, until each is refused. @returns what the day's item counts */
async function spendTheDay(): Promise<number> {
  const state = await startState();
  const model = { provider: "openai-compatible", id: "m", baseUrl: provider.origin, maxTokens: 4000 };
  const bench = openBench(state, model);
  const rule = { id: "day", scope: "all", per: "day", usd: limitMicros / 1e6, atLimit: "refuse" } as const;
  bench.configuration.budgets = {
    ...bench.configuration.budgets,
    prices: { "openai-compatible/m": price },
    rules: [rule],
  };
  const today = new Date().toISOString().slice(0, 10);
  await Promise.all(
    Array.from({ length: sessions }, async (_, n) => {
      const key = `agent:main:s${n}`;
      const agent = bench.agent({ ...immortal(), before: () => pause(integer(3)) });
      for (let sent = 0; sent < 40; sent++) {
        const entry = {
          kind: "message",
          id: `m${n}-${sent}`,
          at: Date.now(),
          text: "x".repeat(integer(2000)),
        };
        await bench.submit(key, { ...entry, origin: { kind: "client" } } as InboxEntry);
        await holdSession(agent, key, () => 900_000);
        if (textOf((await bench.live(key)).at(-1)!).includes("budget:")) return;
      }
      throw new Error("a session was never refused");
    }),
  );
  return (await readDay(state.table, today)).sums.all ?? 0;
}

it(`twenty sessions at once against $1.00, by the provider's own ledger, ${runs} times`, {
  timeout: 0,
}, async () => {
  const spent: number[] = [];
  for (let run = 1; run <= runs; run++) {
    ledger = [];
    ({ integer } = seededRandom(run));
    const counted = await spendTheDay();
    const total = sum(ledger.map(cost));
    // A call far from the limit begins before its reservation is stored; its input is billed although it is ended.
    const aborted = sum(ledger.filter(({ isAborted }) => isAborted).map(cost));
    expect([run, total]).toSatisfy(([, micros]) => micros <= limitMicros + aborted);
    expect(counted).toBeLessThanOrEqual(limitMicros);
    spent.push(total);
  }
  console.log(`spent $${(Math.min(...spent) / 1e6).toFixed(3)} to $${(Math.max(...spent) / 1e6).toFixed(3)}`);
  expect(Math.min(...spent)).toBeGreaterThan(limitMicros / 2);
});
