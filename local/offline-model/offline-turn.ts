import * as v from "valibot";
import { activeHeading, tailStart } from "../../shared/objects/wire-messages.ts";
import { isRecord, parseRecord } from "../http/json.ts";
import { type NodeRequest, plainName, readIntent } from "./offline-requests.ts";
import { endedAnswer, listAnswer, memoryAnswer, readAnswer, runAnswer, type Step } from "./tool-answers.ts";

/** First line of the first answer in a conversation. It says that the offline model is no language model. */
export const label =
  "(built-in offline model: rules, not a language model; set a provider key for a real one)";

const call = v.object({ id: v.string(), function: v.object({ name: v.string(), arguments: v.string() }) });
const message = v.object({
  role: v.picklist(["system", "developer", "user", "assistant", "tool"]),
  content: v.nullish(v.union([v.string(), v.array(v.object({ text: v.optional(v.string()) }))])),
  tool_calls: v.optional(v.array(call), []),
  tool_call_id: v.optional(v.string()),
});

/** The part of a chat completions request that the rules use. */
export const chatRequest = v.object({
  messages: v.pipe(v.array(message), v.minLength(1)),
  tools: v.optional(v.array(v.object({ function: v.object({ name: v.string() }) })), []),
});

export type ChatRequest = v.InferOutput<typeof chatRequest>;
type ChatMessage = ChatRequest["messages"][number];

/** What the model does next: call a tool, or answer. */
export type Move = { name: string; args: Record<string, unknown> } | { text: string };

/** Text that pi-ai puts before the images of tool results. It is no question. */
const imageNotice = "Attached image(s) from tool result:";

const abilities = [
  "I can, by simple rules and with real tools:",
  "- list files: “which files are in this folder?”, “list all files in src”, “find *.md”",
  "- read files: “read README.md”, “show me package.json”",
  "- run commands: “run npm test”, “$ uname -a”, “what time is it?”, “run npm test in the background”",
  "- remember: “remember that the bins go out on Monday”, “what do you remember?”",
  "- use any connected machine: “which nodes are connected?”, “on laptop list files”",
].join("\n");

const noNode = "No node is connected. Start one with `gsv node` on the machine I should work on.";

/** The user's last message, without a channel's or a job's envelope, and the results of the tool calls since. */
export function readTurn(messages: ChatRequest["messages"]): { question: string; steps: Step[] } {
  const last = messages.findLastIndex(
    (one) => one.role === "user" && !["", imageNotice].includes(questionIn(one)),
  );
  const since = messages.slice(last + 1);
  const results = new Map(since.map((one) => [one.tool_call_id, one.role === "tool" ? textOf(one) : ""]));
  const calls = since.flatMap((one) => one.tool_calls);
  const question = (last < 0 ? "" : questionIn(messages[last] as ChatMessage))
    .replace(/^\s*\[[^\]\n]*·[^\]\n]*\]:?\s*/, "")
    .replace(/^Scheduled job: .*\n(?:\(.*\)\n)?\n/, "")
    .trim();
  return {
    question,
    steps: calls.map(({ id, function: { name } }) => ({ tool: name, ...readResult(results.get(id) ?? "") })),
  };
}

/** The next move in a conversation. The same conversation always has the same next move. */
export function nextMove({ messages, tools }: ChatRequest): Move {
  const { question, steps } = readTurn(messages);
  const offered = tools.map(({ function: { name } }) => name);
  const move = moveFor(question, steps.at(-1), offered);
  const isLabelled = messages.some((one) => one.role === "assistant" && textOf(one).startsWith(label));
  return "text" in move && !isLabelled ? { text: `${label}\n\n${move.text}` } : move;
}

function moveFor(question: string, step: Step | undefined, offered: readonly string[]): Move {
  const nodes = nodesOf(offered);
  const { request, on } = readIntent(question, [...nodes.keys()]);
  switch (request.kind) {
    case "remember":
      return useMemory({ action: "remember", content: request.fact }, step, offered);
    case "recall":
      return useMemory({ action: "recall", query: request.about }, step, offered);
    case "nodes":
      return { text: nodes.size === 0 ? noNode : nodesAnswer(nodes) };
    case "ended":
      return { text: endedAnswer(request.report) };
    case "help":
      return { text: abilities };
    case "unknown":
      return { text: `I do not understand that. ${abilities}` };
    default:
      return step ? { text: answerOf(request, step, nodes) } : callNode(request, on, nodes);
  }
}

function useMemory(args: Record<string, string>, step: Step | undefined, offered: readonly string[]): Move {
  if (step) return { text: memoryAnswer(step) };
  const name = "gsv__memory";
  return offered.includes(name)
    ? { name, args }
    : { text: "I cannot do that here: no tool for memory is offered." };
}

/** Calls the tool on the named node, otherwise on the first that has it. */
function callNode({ tool, args }: NodeRequest, on: string | undefined, nodes: Nodes): Move {
  if (nodes.size === 0)
    return { text: `I need a machine for that: a connected node with ${tool}. ${noNode}` };
  const wanted = [...nodes].filter(([node]) => on === undefined || plainName(node) === plainName(on));
  const able = wanted.find(([, has]) => has.includes(tool));
  if (able) return { name: `${able[0]}__${tool}`, args };
  const connected = `connected: ${[...nodes.keys()].join(", ")}`;
  if (wanted.length === 0) return { text: `No node named ${on} is connected; ${connected}.` };
  return { text: `No node here offers the tool ${tool}; ${connected}.` };
}

function answerOf({ kind, args }: NodeRequest, step: Step, nodes: Nodes): string {
  const where = nodes.size > 1 ? ` on ${step.tool.slice(0, step.tool.lastIndexOf("__"))}` : "";
  if (kind === "list") return listAnswer(step, String(args.pattern), where);
  return kind === "read"
    ? readAnswer(step, String(args.path), where)
    : runAnswer(step, String(args.command), where);
}

/** The tools of each connected node, by its id. */
type Nodes = ReadonlyMap<string, readonly string[]>;

/** Tools are named `{nodeId}__{tool}`, the gateway's own `gsv__{tool}`. */
function nodesOf(offered: readonly string[]): Nodes {
  const nodes = new Map<string, string[]>();
  for (const name of offered) {
    const [, node, tool] = /^(.+)__(.+)$/s.exec(name) ?? [];
    if (node && tool && node !== "gsv") nodes.set(node, [...(nodes.get(node) ?? []), tool]);
  }
  return nodes;
}

function nodesAnswer(nodes: Nodes): string {
  const lines = [...nodes].map(([node, has]) => `- ${node}: ${has.join(", ")}`);
  return ["Connected nodes and their tools:", ...lines].join("\n");
}

function textOf({ content }: ChatMessage): string {
  return typeof content === "string" ? content : (content ?? []).map(({ text = "" }) => text).join("\n");
}

/** What the user said in a message, without active objects and the gateway's tail behind it. */
function questionIn(one: ChatMessage): string {
  return (textOf(one).split(activeHeading, 1)[0]?.split(tailStart, 1)[0] ?? "").trim();
}

/** Failures are `Error: …`; native tools wrap results in `{ok, result, error}`. */
function readResult(text: string): Omit<Step, "tool"> {
  const error = /^Error: ([\s\S]*)$/.exec(text)?.[1];
  if (error !== undefined) return { error };
  const value = parseRecord(text) ?? text;
  if (!isRecord(value) || typeof value.ok !== "boolean") return { value };
  return value.ok ? { value: value.result } : { error: String(value.error) };
}
