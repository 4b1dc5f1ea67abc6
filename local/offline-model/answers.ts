import type { Step } from "./conversation.ts";
import { isRecord } from "./conversation.ts";
import { counted, fenced, headOf, tailOf } from "./text.ts";

/** Puts the result of one tool call into words; protocol, "Tools", says what the results hold. */

/** Files of a list that are named, the others are counted. */
const mostFiles = 50;

/** What a Glob found: `{basePath, matches, count}`. */
export function listAnswer(step: Step, on: string): string {
  const { value, failed } = resultOf(step, "list the files", on);
  if (failed) return failed;
  if (!isRecord(value) || !Array.isArray(value.matches)) return plainly(value);
  const base = typeof value.basePath === "string" ? value.basePath : "";
  const files = value.matches.map((match) => relativeTo(base, String(match))).sort();
  const total = typeof value.count === "number" ? Math.max(value.count, files.length) : files.length;
  const pattern = String(step.args.pattern ?? "*");
  const what = pattern === "*" ? "" : ` for ${pattern}`;
  const where = `${base ? ` in ${base}` : ""}${on}`;
  if (files.length === 0) {
    const deeper = pattern === "*" ? " Say “list all files” to look into its folders." : "";
    return `No files${what}${where}.${deeper}`;
  }
  const shown = files.slice(0, mostFiles);
  const more = total - shown.length;
  return [
    `${counted(total, "file")}${what}${where}:`,
    ...shown.map((file) => `- ${file}`),
    ...(more > 0 ? [`… and ${more} more`] : []),
  ].join("\n");
}

/** What a Read showed: `{path, content, lines}` with numbered lines, or the note beside an image. */
export function readAnswer(step: Step, on: string): string {
  const path = String(step.args.path ?? "the file");
  const { value, failed } = resultOf(step, `read ${path}`, on);
  if (failed) return failed;
  const content = isRecord(value) ? value.content : value;
  if (typeof content !== "string") return plainly(value);
  if (content === "") return `${path}${on} is empty.`;
  const { shown, hidden } = headOf(withoutNumbers(content));
  const first = Number(step.args.offset ?? 0);
  const next = first + shown.split("\n").length + 1;
  const cut = hidden > 0 || (isRecord(value) && value.truncated === true);
  const rest = hidden > 0 ? `… and ${counted(hidden, "more line")}` : "… and more";
  return [
    `${path}${on}${first > 0 ? `, from line ${first + 1}` : ""}:`,
    fenced(shown, path.match(/\.([A-Za-z0-9]{1,8})$/)?.[1]),
    ...(cut ? [`${rest}: say “read ${path} from line ${next}”.`] : []),
  ].join("\n");
}

/** What a Grep found: `{matches: [{path, line, content}], count, truncated?}`. */
export function searchAnswer(step: Step, term: string, on: string): string {
  const { value, failed } = resultOf(step, `search for ${term}`, on);
  if (failed) return failed;
  if (!isRecord(value) || !Array.isArray(value.matches)) return plainly(value);
  const matches = value.matches.filter(isRecord);
  const place = typeof step.args.path === "string" ? ` in ${step.args.path}` : "";
  if (matches.length === 0) return `Nothing found for “${term}”${place}${on}.`;
  const shown = matches.slice(0, mostFiles);
  const count = typeof value.count === "number" ? Math.max(value.count, matches.length) : matches.length;
  const more = count - shown.length;
  const total = value.truncated === true ? `More than ${count} matches` : counted(count, "match", "matches");
  return [
    `${total} for “${term}”${place}${on}:`,
    ...shown.map(({ path, line, content }) => `${path}:${line}: ${String(content).trim()}`),
    ...(more > 0 ? [`… and ${more} more`] : []),
  ].join("\n");
}

/** What a Bash call did: `{status, exitCode, output}`, or that it is still running. */
export function runAnswer(step: Step, on: string): string {
  const command = String(step.args.command ?? "");
  const { value, failed } = resultOf(step, `run ${command}`, on);
  if (failed) return failed;
  if (!isRecord(value)) return plainly(value);
  const said = `\`${command}\`${on}`;
  if (value.status === "running") return `${said} is still running (session ${value.sessionId}).`;
  const output = typeof value.output === "string" ? value.output : String(value.tail ?? "");
  const { shown, hidden } = tailOf(output);
  return [
    `${said}${ending(value)}:`,
    ...(hidden > 0 ? [`(the first ${counted(hidden, "line")} left out)`] : []),
    output.trim() === "" ? "(no output)" : fenced(shown),
  ].join("\n");
}

/** What the memory file holds, or the lines of it that have a word of `about`. */
export function recallAnswer(step: Step, about?: string): string {
  if (isMissing(step)) return "I have nothing written down yet. Tell me: “remember that …”.";
  const { value, failed } = resultOf(step, "read my memory", "");
  if (failed) return failed;
  const content = isRecord(value) && typeof value.content === "string" ? value.content : plainly(value);
  if (about === undefined) return `This is in my memory (${step.args.path}):\n${content.trim()}`;
  const words = telling(about.toLowerCase());
  const lines = content.split("\n").filter((line) => words.some((word) => line.toLowerCase().includes(word)));
  if (lines.length === 0) return `I have nothing written down about ${about}.`;
  return `About ${about} I have written down:\n${lines.join("\n")}`;
}

/** Words that say nothing about what is looked for. */
const fillers = new Set([
  "the",
  "and",
  "for",
  "you",
  "your",
  "our",
  "his",
  "her",
  "their",
  "that",
  "this",
  "what",
  "when",
]);

function telling(text: string): string[] {
  const words = (text.match(/[\p{L}\p{N}]{3,}/gu) ?? []).filter((word) => !fillers.has(word));
  return words.length > 0 ? words : [text];
}

/** Whether a file of the workspace is not there, as opposed to one that cannot be read. */
export function isMissing(step: Step): boolean {
  return !step.outcome.ok && /not found|no such|does not exist/i.test(step.outcome.error);
}

/** The value of a result, or a sentence about its failure. */
export function resultOf(step: Step, doing: string, on: string): { value?: unknown; failed?: string } {
  if (step.outcome.ok) return { value: step.outcome.value };
  return { failed: `I could not ${doing}${on}: ${step.outcome.error}` };
}

function ending(value: Record<string, unknown>): string {
  if (value.timedOut === true) return " ran out of time and was ended";
  if (typeof value.signal === "string") return ` was ended by ${value.signal}`;
  if (typeof value.exitCode === "number" && value.exitCode !== 0)
    return ` ended with exit code ${value.exitCode}`;
  return value.status === "failed" ? " failed" : "";
}

/** A result of a shape that is not known, shown as it is. */
function plainly(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null, null, 2);
  const { shown, hidden } = headOf(text);
  return fenced(shown) + (hidden > 0 ? `\n… and ${counted(hidden, "more line")}` : "");
}

function relativeTo(base: string, path: string): string {
  const folder = base.endsWith("/") ? base : `${base}/`;
  return base !== "" && path.startsWith(folder) ? path.slice(folder.length) : path;
}

/** Lines come as `{n}\t{line}`; a text where one does not is left alone. */
function withoutNumbers(content: string): string {
  const lines = content.split("\n");
  const numbered = lines.every(
    (line, i) => /^\s*\d+\t/.test(line) || (line === "" && i === lines.length - 1),
  );
  return numbered ? lines.map((line) => line.replace(/^\s*\d+\t/, "")).join("\n") : content;
}
