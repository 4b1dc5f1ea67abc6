import { startState } from "../../support/state.ts";
import { holdLongSession } from "./long-session.ts";

/**
 * Prints the figures of docs/performance.md, "A long conversation": `npx tsx test/agent/objects/measure-context.ts [turns]
 * [window]`. A line of JSON for each way of holding the conversation.
 */
const turns = Number(process.argv[2] ?? 300);
const contextWindow = Number(process.argv[3] ?? 16_000);
const ways = [
  { name: "without deactivation", rendering: "inline", deactivates: false },
  { name: "inline", rendering: "inline", deactivates: true },
  { name: "pools", rendering: "pools", deactivates: true },
] as const;

const state = await startState();
try {
  for (const [i, { name, ...way }] of ways.entries()) {
    const { figures } = await holdLongSession(state, `agent:long${i}:main`, {
      turns,
      contextWindow,
      ...way,
    });
    process.stdout.write(`${JSON.stringify({ name, turns, contextWindow, ...figures })}\n`);
  }
} finally {
  await state.close();
}
