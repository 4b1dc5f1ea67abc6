import type { Move, Step } from "./chat-turn.ts";
import { recall, remember } from "./memory-note.ts";
import type { Tools } from "./offered-tools.ts";
import { type Intent, plainName, type Request } from "./offline-requests.ts";
import { endedAnswer, listAnswer, readAnswer, runAnswer } from "./tool-answers.ts";

/** A tool of a node, its arguments, and the words for its result. */
interface NodeCall {
  tool: string;
  args: Record<string, unknown>;
  answer(step: Step, on: string): string;
}

const abilities = [
  "I can, by simple rules and with real tools:",
  "- list files: “which files are in this folder?”, “list all files in src”, “ls docs”, “find *.md”",
  "- read files: “read README.md”, “show me package.json”",
  "- run commands: “run npm test”, “$ uname -a”, “what time is it?”, “run npm test in the background”",
  "- remember: “remember that the bins go out on Monday”, “what do you remember?”",
  "- use any connected machine: “which nodes are connected?”, “on laptop list files”",
].join("\n");

/** The next move of a turn. @param steps the tool calls of this turn so far */
export function nextMove({ request, on }: Intent, steps: Step[], tools: Tools): Move {
  switch (request.kind) {
    case "remember":
      return remember(request.fact, steps, tools.native);
    case "recall":
      return recall(request.about, steps, tools.native);
    case "nodes":
      return { text: nodesAnswer(tools) };
    case "ended":
      return { text: endedAnswer(request.report) };
    case "help":
      return { text: abilities };
    case "unknown":
      return { text: `I do not understand that. ${abilities}` };
    default:
      return onNode(nodeCall(request), on, steps, tools);
  }
}

function nodeCall(request: Extract<Request, { kind: "list" | "read" | "run" }>): NodeCall {
  switch (request.kind) {
    case "list": {
      const { pattern, path } = request;
      return { tool: "Glob", args: path === undefined ? { pattern } : { pattern, path }, answer: listAnswer };
    }
    case "read":
      return { tool: "Read", args: { path: request.path }, answer: readAnswer };
    case "run":
      return { tool: "Bash", args: runArguments(request), answer: runAnswer };
  }
}

function runArguments({ command, background }: Extract<Request, { kind: "run" }>): NodeCall["args"] {
  return background ? { command, background } : { command };
}

/** Calls the tool on the node that was named, else on the first that has it. Then answers from its result. */
function onNode({ tool, args, answer }: NodeCall, on: string | undefined, steps: Step[], tools: Tools): Move {
  const connected = [...tools.nodes.keys()];
  const [step] = steps;
  if (step) {
    const node = connected.length > 1 ? ` on ${step.tool.slice(0, step.tool.lastIndexOf("__"))}` : "";
    return { text: answer(step, node) };
  }
  if (connected.length === 0) {
    const how = "No node is connected. Start one with `gsv node` on the machine I should work on.";
    return { text: `I need a machine for that: a connected node with the tool ${tool}. ${how}` };
  }
  const wanted = on === undefined ? connected : connected.filter((node) => plainName(node) === plainName(on));
  if (wanted.length === 0) {
    const how = `connected: ${connected.join(", ")}. Start one with \`gsv node\` on that machine.`;
    return { text: `No node named ${on} is connected; ${how}` };
  }
  const able = wanted.find((node) => tools.nodes.get(node)?.has(tool));
  if (able !== undefined) return { calls: [{ name: `${able}__${tool}`, args }] };
  const who = `${wanted.join(", ")} ${wanted.length > 1 ? "are connected but do" : "is connected but does"}`;
  return { text: `${who} not offer the tool ${tool}. Start a node that does with \`gsv node\`.` };
}

function nodesAnswer({ nodes }: Tools): string {
  if (nodes.size === 0)
    return "No node is connected. Start one with `gsv node` on the machine I should work on.";
  const lines = [...nodes].map(([node, has]) => `- ${node}: ${[...has].join(", ")}`);
  return ["Connected nodes and their tools:", ...lines].join("\n");
}
