import { afterAll, beforeAll, expect, it } from "vitest";
import { holdSession } from "../../functions/agent/session-loop.ts";
import type { Gateway } from "../../functions/socket/gateway.ts";
import { memoryMethods } from "../../functions/socket/methods/memory.ts";
import type { MemoryResults } from "../../shared/protocol/memory-schemas.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { type Bench, openBench } from "../agent/bench.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { type State, startState } from "../support/state.ts";

const sessionKey = "agent:main:main";
let state: State;
let model: ModelServer;
let bench: Bench;
let messages = 0;

beforeAll(async () => {
  state = await startState();
  model = await startOpenAiServer(({ turns }) => {
    const asked = turns.at(-1)?.text ?? "";
    if (!asked.includes("<memories>")) return { text: "Noted." };
    // It extracts the boiler's fact once, self-contained.
    const found = asked.includes("on Tuesday") ? "- Olsen repairs Ada's boiler" : "";
    return { text: `<summary>They talked.</summary><memories>${found}</memories>` };
  });
  bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  bench.configuration.compaction.extractMemories = true;
});
afterAll(async () => {
  await model.close();
  await state.close();
});

async function submit(entry: object): Promise<void> {
  const base = { id: `m${++messages}`, at: bench.agent().now(), origin: { kind: "client" } };
  await bench.submit(sessionKey, { ...base, ...entry } as never);
  await holdSession(bench.agent(), sessionKey, () => 900_000);
}
const say = (text: string) => submit({ kind: "message", text });
const compact = () => submit({ kind: "compact", keep: 1, via: "method" });
const reset = () => submit({ kind: "reset", via: "method" });

async function call<M extends keyof MemoryResults>(method: M, params: object): Promise<MemoryResults[M]> {
  const agent = bench.agent();
  const gateway = { ...agent, now: agent.now } as unknown as Gateway;
  return (await memoryMethods[method].handle(gateway, params as never, {} as never)) as MemoryResults[M];
}

it("a memory is explained by the message it came from, compacted, archived and reset three times", async () => {
  // An earlier conversation speaks of the same.
  await say("Somebody should find out whether Olsen repairs Ada's boiler");
  await reset();
  await say("By the way, Olsen from Bergen repaired the boiler on Tuesday");
  const { sessionId } = (await readSession(state.table, sessionKey)) ?? {};
  for (const text of ["What is the weather?", "And tomorrow?"]) await say(text);
  await compact();
  for (let i = 0; i < 3; i++) {
    await say(`Let us talk of something else, number ${i}: boilers in general`);
    await reset();
  }
  const { memories } = await call("memory.list", { query: "who repairs the boiler?", limit: 5 });
  expect(memories[0]).toMatchObject({
    text: "Olsen repairs Ada's boiler",
    record: { by: "extraction", sessionId },
  });
  const { memory, sources } = await call("memory.why", { id: memories[0]?.id });
  expect(memory.record).toMatchObject({ sessionKey, sessionId, kind: "main" });
  expect(sources[0]).toMatchObject({ sessionKey, sessionId, message: 1, role: "user" });
  expect(sources[0]?.text).toContain("Olsen from Bergen repaired the boiler");
  expect(sources.every((source) => source.sessionId === sessionId)).toBe(true);
});
