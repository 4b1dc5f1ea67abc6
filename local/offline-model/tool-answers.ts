import { isRecord, parseRecord } from "../http/json.ts";

/** A tool call of this turn, and its result or error. docs/reference/protocol.md describes the results. */
export interface Step {
  tool: string;
  value?: unknown;
  error?: string;
}

/** Max files that a list names. */
const maxFiles = 50;
/** Max size of a quoted text. */
const maxLines = 200;
const maxCharacters = 8000;

/** For the result of Glob, `{basePath, matches, count}`. @param where names the node: ` on laptop`, or nothing */
export function listAnswer({ value, error }: Step, pattern: string, where: string): string {
  if (error !== undefined) return `I could not list the files${where}: ${error}`;
  if (!isRecord(value) || !Array.isArray(value.matches)) return quoted(value);
  const base = String(value.basePath ?? "");
  const files = value.matches.map((match) => String(match).replace(`${base}/`, "")).sort();
  const total = Math.max(Number(value.count) || 0, files.length);
  const what = `${pattern === "*" ? "" : ` for ${pattern}`}${base ? ` in ${base}` : ""}${where}`;
  if (total === 0) return `No files${what}. “list all files” also looks into folders.`;
  const lines = [`${total} ${total === 1 ? "file" : "files"}${what}:`];
  for (const file of files.slice(0, maxFiles)) lines.push(`- ${file}`);
  if (total > maxFiles) lines.push(`… and ${total - maxFiles} more`);
  return lines.join("\n");
}

/** For the result of Read, `{content}` with numbered lines. */
export function readAnswer({ value, error }: Step, path: string, where: string): string {
  if (error !== undefined) return `I could not read ${path}${where}: ${error}`;
  if (!isRecord(value) || typeof value.content !== "string") return quoted(value);
  const content = value.content.replaceAll(/^ *\d+\t/gm, "");
  const rest = value.truncated === true || isLong(content) ? "\n… and more" : "";
  return `${path}${where}:\n${quoted(content, /\.(\w{1,8})$/.exec(path)?.[1])}${rest}`;
}

/** For the result of Bash, `{status, exitCode, output}`. */
export function runAnswer({ value, error }: Step, command: string, where: string): string {
  if (error !== undefined) return `I could not run ${command}${where}: ${error}`;
  if (!isRecord(value)) return quoted(value);
  if (value.status === "running")
    return `\`${command}\`${where} runs in the background; I will say how it ended.`;
  return `\`${command}\`${where}${endingOf(value)}:\n${output(value.output)}`;
}

/** For the end of a background command (docs/background-commands.md). @param report JSON */
export function endedAnswer(report: string): string {
  const value = parseRecord(report);
  if (value === undefined) return quoted(report);
  const ending = endingOf({ ...value, timedOut: value.event === "timed_out", status: value.event });
  return `The command in the background on ${value.nodeId}${ending || " is done"}:\n${output(value.outputTail)}`;
}

/** For the results of gsv__memory: `{memories: [{text}]}` of a recall, `{text}` of what it remembers. */
export function memoryAnswer({ value, error }: Step): string {
  if (error !== undefined) return `I could not use my memory: ${error}`;
  if (!isRecord(value)) return quoted(value);
  if (typeof value.text === "string") return `I will remember: ${value.text}`;
  const memories = Array.isArray(value.memories) ? value.memories.filter(isRecord) : [];
  if (memories.length === 0) return "I remember nothing about that. Tell me: “remember that …”.";
  return ["I remember:", ...memories.map(({ text }) => `- ${text}`)].join("\n");
}

function endingOf({ timedOut, signal, exitCode, status }: Record<string, unknown>): string {
  if (timedOut === true) return " ran out of time and was ended";
  if (typeof signal === "string") return ` was ended by ${signal}`;
  if (typeof exitCode === "number" && exitCode !== 0) return ` ended with exit code ${exitCode}`;
  return status === "failed" ? " failed" : "";
}

/** The end of a command's output. */
function output(value: unknown): string {
  const text = String(value ?? "").trimEnd();
  if (text === "") return "(no output)";
  if (!isLong(text)) return quoted(text);
  const end = text.split("\n").slice(-maxLines).join("\n").slice(-maxCharacters).toWellFormed();
  return `(only the end)\n${quoted(end)}`;
}

function isLong(text: string): boolean {
  return text.length > maxCharacters || text.split("\n").length > maxLines + 1;
}

/** The beginning of a text in a code block, whose fence is longer than any inside it. */
function quoted(value: unknown, language = ""): string {
  const whole = typeof value === "string" ? value : JSON.stringify(value ?? null, null, 2);
  const text = whole.split("\n").slice(0, maxLines).join("\n").slice(0, maxCharacters).toWellFormed();
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map((run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}
