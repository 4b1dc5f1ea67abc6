import { isMissing, readAnswer, recallAnswer, resultOf } from "./answers.ts";
import type { Step } from "./conversation.ts";
import { isRecord } from "./conversation.ts";
import type { Tools } from "./offered-tools.ts";
import type { Move } from "./plan.ts";

/** The workspace file of what holds for long. */
const file = "MEMORY.md";
/** What the file says while there is nothing in it. */
const placeholder = "(Nothing yet.)";

const read = "gsv__ReadFile";
const write = "gsv__WriteFile";
const edit = "gsv__EditFile";
const notOffered = "I cannot do that here: the tools for workspace files are not offered.";

/** How a path of the workspace is told from one on a node, as in the Transfer tool. */
export const workspacePrefix = "gsv:";

/** Reads files of the workspace, named with the prefix. */
export function readWorkspace(paths: string[], steps: Step[], tools: Tools): Move {
  if (steps.length > 0) return { text: steps.map((step) => readAnswer(step, "")).join("\n\n") };
  if (!tools.native.has(read)) return { text: notOffered };
  const bare = paths.map((path) => path.slice(workspacePrefix.length));
  return { calls: bare.map((path) => ({ name: read, args: { path } })) };
}

/** Reads the memory file and tells what it holds, or what of it is about something. */
export function recall(about: string | undefined, steps: Step[], tools: Tools): Move {
  const [step] = steps;
  if (step) return { text: recallAnswer(step, about) };
  if (!tools.native.has(read)) return { text: notOffered };
  return { calls: [{ name: read, args: { path: file } }] };
}

/**
 * Writes a fact down: reads the file, adds a line to it, says so. The line is added by an edit of the file's end, so
 * that nothing is lost that was written in between or that the result left out.
 */
export function remember(fact: string, steps: Step[], tools: Tools): Move {
  if (!tools.native.has(read) || !tools.native.has(write) || !tools.native.has(edit))
    return { text: notOffered };
  const done = steps.find((step) => step.tool === write || step.tool === edit);
  if (done) {
    const { failed } = resultOf(done, "write that down", "");
    return { text: failed ?? `I will remember: ${fact}\n(written to ${file})` };
  }
  const before = steps.find((step) => step.tool === read);
  if (!before) return { calls: [{ name: read, args: { path: file } }] };
  if (!before.outcome.ok && !isMissing(before))
    return { text: resultOf(before, "read my memory", "").failed ?? "" };
  return addLine(fact, contentOf(before));
}

function addLine(fact: string, content: string): Move {
  const line = `- ${fact}`;
  if (content.split("\n").some((one) => one.trim() === line))
    return { text: `I have that in ${file} already: ${fact}` };
  if (content.trim() === "")
    return { calls: [{ name: write, args: { path: file, content: `# Long-term memory\n\n${line}\n` } }] };
  const oldString = uniqueEnd(content.trimEnd());
  const newString = oldString.endsWith(placeholder)
    ? oldString.slice(0, -placeholder.length) + line
    : `${oldString}\n${line}`;
  return { calls: [{ name: edit, args: { path: file, oldString, newString } }] };
}

/** The fewest last lines of a text that occur in it once. */
function uniqueEnd(text: string): string {
  const lines = text.split("\n");
  for (let count = 1; count < lines.length; count++) {
    const end = lines.slice(-count).join("\n");
    if (end.trim() !== "" && text.indexOf(end) === text.length - end.length) return end;
  }
  return text;
}

function contentOf(step: Step): string {
  if (!step.outcome.ok) return "";
  const { value } = step.outcome;
  return isRecord(value) && typeof value.content === "string" ? value.content : "";
}
