import { isRecord, type Move, type Step } from "./chat-turn.ts";
import { resultOf } from "./tool-answers.ts";

/** The workspace file for long-term memory. */
const file = "MEMORY.md";
/** The last line of the file while it is empty. */
const placeholder = "(Nothing yet.)";

const read = "gsv__ReadFile";
const write = "gsv__WriteFile";
const edit = "gsv__EditFile";
const notOffered = "I cannot do that here: the tools for workspace files are not offered.";

/**
 * Reads the memory file and answers with it, or with the lines of it that hold a word of `about`.
 * @param native names of the gateway's tools that are offered
 */
export function recall(about: string | undefined, steps: Step[], native: ReadonlySet<string>): Move {
  const [step] = steps;
  if (!step) return native.has(read) ? { calls: [readMemory] } : { text: notOffered };
  if (isMissing(step)) return { text: "I have nothing written down yet. Tell me: “remember that …”." };
  const { failed } = resultOf(step, "read my memory");
  if (failed) return { text: failed };
  const content = contentOf(step);
  if (about === undefined) return { text: `This is in my memory (${file}):\n${content.trim()}` };
  const words = about.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [about.toLowerCase()];
  const telling = words.filter((word) => !/^(?:the|and|for|you|your|that|this|what|when)$/.test(word));
  const lines = content
    .split("\n")
    .filter((line) => telling.some((word) => line.toLowerCase().includes(word)));
  if (lines.length === 0) return { text: `I have nothing written down about ${about}.` };
  return { text: `About ${about} I have written down:\n${lines.join("\n")}` };
}

/**
 * Records a fact: reads the file, appends a line, and confirms. The line is appended by an edit, which keeps
 * concurrent changes and text that the tool result has truncated.
 */
export function remember(fact: string, steps: Step[], native: ReadonlySet<string>): Move {
  if (![read, write, edit].every((tool) => native.has(tool))) return { text: notOffered };
  const done = steps.find((step) => step.tool === write || step.tool === edit);
  if (done) {
    const { failed } = resultOf(done, "write that down");
    return { text: failed ?? `I will remember: ${fact}\n(written to ${file})` };
  }
  const before = steps.find((step) => step.tool === read);
  if (!before) return { calls: [readMemory] };
  const { failed } = isMissing(before) ? {} : resultOf(before, "read my memory");
  return failed ? { text: failed } : addLine(fact, contentOf(before));
}

const readMemory = { name: read, args: { path: file } };

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

function isMissing(step: Step): boolean {
  return !step.outcome.ok && /not found|no such|does not exist/i.test(step.outcome.error);
}

function contentOf(step: Step): string {
  const value = step.outcome.ok ? step.outcome.value : undefined;
  return isRecord(value) && typeof value.content === "string" ? value.content : "";
}
