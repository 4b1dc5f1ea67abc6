import { listAnswer, readAnswer, runAnswer, searchAnswer } from "./answers.ts";
import type { Step } from "./conversation.ts";
import type { Intent } from "./intents.ts";
import { readWorkspace, recall, remember, workspacePrefix } from "./memory.ts";
import type { Choice, NodeToolName, Tools } from "./offered-tools.ts";
import { chooseNodes } from "./offered-tools.ts";
import type { Wish } from "./requests.ts";

/** What the model does next: call tools, or answer. */
export type Move = { calls: { name: string; args: Record<string, unknown> }[] } | { text: string };

/** A wish that a node fulfils: the tool, its arguments (one call each), and how its result is put. */
interface NodeWork {
  tool: NodeToolName;
  args: Record<string, unknown>[];
  answer(step: Step, on: string): string;
}

export const abilities = [
  "I can, by simple rules and with real tools:",
  "- list files: “which files are in this folder?”, “list all files in src”, “ls docs”, “find *.md”",
  "- read files: “read README.md”, “show me package.json”, “lines 10-20 of notes.txt”",
  '- search: “search for TODO”, “find "foo" in src”, “where is startServer?”',
  "- run commands: “run npm test”, “$ uname -a”, “what time is it?”",
  "- remember: “remember that the bins go out on Monday”, “what do you remember?”, “read gsv:MEMORY.md”",
  "- use any connected machine: “which nodes are connected?”, “on laptop list files”, “run date on all nodes”",
].join("\n");

/** The next move for what was asked, given what the tools have said since. */
export function nextMove({ wish, on }: Intent, steps: Step[], tools: Tools): Move {
  if (wish.kind === "read" && wish.paths.every((path) => path.startsWith(workspacePrefix)))
    return readWorkspace(wish.paths, steps, tools);
  const work = nodeWork(wish);
  if (work) return onNodes(work, chooseNodes(work.tool, on, tools), steps, tools);
  switch (wish.kind) {
    case "remember":
      return remember(wish.fact, steps, tools);
    case "recall":
      return recall(wish.about, steps, tools);
    case "nodes":
      return { text: nodesAnswer(tools) };
    case "help":
      return { text: abilities };
    default:
      return { text: `I do not understand that. ${abilities}` };
  }
}

function nodeWork(wish: Wish): NodeWork | undefined {
  switch (wish.kind) {
    case "list":
      return { tool: "Glob", args: [given({ pattern: wish.pattern, path: wish.path })], answer: listAnswer };
    case "read":
      return {
        tool: "Read",
        args: wish.paths.map((path) => given({ path, offset: wish.offset, limit: wish.limit })),
        answer: readAnswer,
      };
    case "search":
      return {
        tool: "Grep",
        args: [given({ pattern: wish.pattern, path: wish.path, include: wish.include })],
        answer: (step, on) => searchAnswer(step, wish.term, on),
      };
    case "run":
      return {
        tool: "Bash",
        args: [given({ command: wish.command, workdir: wish.workdir })],
        answer: runAnswer,
      };
    default:
      return undefined;
  }
}

/** All calls at once, then one answer from all results; with several nodes each part says whose it is. */
function onNodes(work: NodeWork, choice: Choice, steps: Step[], tools: Tools): Move {
  if (steps.length > 0) {
    const several = tools.nodes.size > 1;
    const parts = steps.map((step) => work.answer(step, several ? ` on ${ownerOf(step.tool)}` : ""));
    const note = "note" in choice && choice.note ? [choice.note] : [];
    return { text: [...parts, ...note].join("\n\n") };
  }
  if ("missing" in choice) return { text: choice.missing };
  return {
    calls: choice.nodes.flatMap((node) => work.args.map((args) => ({ name: `${node}__${work.tool}`, args }))),
  };
}

function ownerOf(tool: string): string {
  return tool.slice(0, tool.lastIndexOf("__"));
}

function nodesAnswer(tools: Tools): string {
  if (tools.nodes.size === 0)
    return "No node is connected. Start one with `gsv node` on the machine I should work on.";
  const lines = [...tools.nodes].map(([node, has]) => `- ${node}: ${[...has].join(", ")}`);
  return ["Connected nodes and their tools:", ...lines].join("\n");
}

/** Arguments without those that are not given. */
function given(args: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined));
}
