import type { CallModel, ModelCall, ModelOutcome } from "../../../functions/agent/model/model-call.ts";
import {
  type AssistantMessage,
  type Message,
  type ToolCallBlock,
  textOf,
  toolCallsOf,
} from "../../../shared/protocol/messages.ts";
import { agentCopies } from "../load/copies.ts";
import { factsIn } from "../load/facts.ts";
import { answerTo, placeOf, type Script, textOfScript } from "../load/script.ts";
import type { Faults } from "./faults.ts";

/** A refusing provider rejects more messages than this. */
const refusedAbove = 5;

/** A model that follows the scripts of the messages. It takes time, streams, and can be aborted. */
export function createModel(faults: Faults, see: (call: ModelCall) => void): CallModel {
  let memories = 0;
  return async (call) => {
    const isReading = call.systemPrompt.startsWith("You read conversations");
    if (!isReading) see(call);
    const fault = faults.draw(["slow", "silent"], 8);
    const place = isReading ? undefined : placeOf(call.messages);
    const usual = place?.script.ms ?? 300;
    const ms = fault === "slow" ? faults.between(5_000, 60_000) : usual;
    if (!isReading) call.onText("thinking");
    if ((await pause(call, fault === "silent" ? call.timeoutMs : ms)) === "stopped")
      return { status: "aborted" };
    if (fault === "silent") return failed("the model did not answer");
    if (isReading) {
      const said = factsIn(call.messages.map(textOf).join("\n"));
      const found = said.length > 0 ? said : [`fact ${++memories}`];
      const lines = found.map((fact) => `- ${fact}`).join("\n");
      const text = `<summary>What was said, in short.</summary><memories>${lines}</memories>`;
      return answered([{ type: "text", text }]);
    }
    if (!place) return answered([{ type: "text", text: "I have nothing to answer." }]);
    const { script, done } = place;
    if (script.fails > 0) return failed("overloaded");
    if (script.refuses > 0 && call.messages.length > refusedAbove)
      return { ...failed("too long"), overflow: true };
    const { sends = 0, rounds } = script;
    if (sends > 0 && done === 0) return answered(sendsOf(script));
    const round = done - Math.min(1, sends);
    if (round < rounds) return answered(callsOf(script, round, call.messages));
    call.onText(answerTo(script.number));
    return answered([{ type: "text", text: answerTo(script.number) }]);
  };
}

function pause({ signal }: ModelCall, ms: number): Promise<"passed" | "stopped"> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve("stopped");
    const end = (how: "passed" | "stopped") => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve(how);
    };
    const stop = () => end("stopped");
    const timer = setTimeout(() => end("passed"), ms);
    signal.addEventListener("abort", stop);
  });
}

function failed(error: string) {
  return { status: "failed", error: `LLM error: ${error}`, overflow: false } as const;
}

function answered(content: AssistantMessage["content"]): ModelOutcome {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 110, cost };
  const calls = content.some(({ type }) => type === "toolCall");
  const stopReason = calls ? "toolUse" : "stop";
  return { status: "answered", message: { role: "assistant", content, usage, stopReason, timestamp: 0 } };
}

/** Ids count from 0 in each reply, as with some servers. The last native call is of a context tool. */
function callsOf({ number, node, native, copies }: Script, round: number, messages: readonly Message[]) {
  const calls: ToolCallBlock[] = [];
  const add = (name: string, args: Record<string, unknown>) =>
    calls.push({ type: "toolCall", id: `call_${calls.length}`, name, arguments: args });
  if (copies) add("gsv__Transfer", { ...agentCopies[(number + round) % agentCopies.length] });
  for (let i = 0; i < node; i++) add("n__probe", { number, round, i });
  for (let i = 0; i < native; i++)
    if (i > 0 && i === native - 1) add(...contextCall(number + round, messages));
    else if (i % 2 === 0) add("gsv__WriteFile", { path: `notes/q${number}.md`, content: `${round} ${i}` });
    else add("gsv__Message", { channel: "sim", to: "friend", text: `note q${number}/${round}/${i}` });
  if (calls.length === 0 && number % 2 === 0) add(...contextCall(number, messages));
  if (calls.length === 0) add("gsv__ReadFile", { path: "SOUL.md" });
  return calls;
}

/** Messages to other agents, in turn. */
function sendsOf(script: Script): ToolCallBlock[] {
  const { number, sends = 0, hops = 0 } = script;
  return Array.from({ length: sends }, (_, i) => {
    const rest = { ...script, rounds: 0, sends: hops > 0 ? sends : 0, hops: Math.max(0, hops - 1) };
    const to = ["b", "c", "main"][(number + i) % 3];
    return {
      ...{ type: "toolCall", id: `call_${i}`, name: "gsv__SessionSend" },
      arguments: {
        ...{ sessionKey: `agent:${to}:main`, waitSeconds: [0, 20, 5][(number + i) % 3] },
        message: textOfScript({ ...rest, number: number * 10 + i }),
      },
    };
  });
}

/** A call about one of the conversation's objects, or about an unknown one. */
function contextCall(number: number, messages: readonly Message[]): [string, Record<string, unknown>] {
  const ids = messages.flatMap(toolCallsOf).map(({ id }) => id);
  const objects = [...ids, `file:gsv:notes/q${number}.md`, "unknown"];
  const id = objects[number % objects.length];
  const tools = ["gsv__pin", "gsv__deactivate", "gsv__activate", "gsv__pin"] as const;
  return [tools[number % tools.length] ?? "gsv__pin", { id, ...(number % 4 === 3 ? { pinned: false } : {}) }];
}
