import { bounded, counted, fenced } from "./answer-text.ts";
import { isRecord, parse, type Step } from "./chat-turn.ts";

/** Words for the result of one tool call. docs/reference/protocol.md, "Tools", describes the results. */

/** Files of a list that are named; the others are counted. */
const maxFiles = 50;

/** For the result of Glob, `{basePath, matches, count}`. `on` names the node where there are several: ` on laptop`. */
export function listAnswer(step: Step, on: string): string {
  const { value, failed } = resultOf(step, "list the files", on);
  if (failed) return failed;
  if (!isRecord(value) || !Array.isArray(value.matches)) return asItIs(value);
  const base = typeof value.basePath === "string" ? value.basePath : "";
  const files = value.matches.map((match) => relativeTo(base, String(match))).sort();
  const total = typeof value.count === "number" ? Math.max(value.count, files.length) : files.length;
  const pattern = String(step.args.pattern ?? "*");
  const where = `${pattern === "*" ? "" : ` for ${pattern}`}${base ? ` in ${base}` : ""}${on}`;
  if (files.length === 0) {
    const deeper = pattern === "*" ? " Say “list all files” to look into its folders." : "";
    return `No files${where}.${deeper}`;
  }
  const shown = files.slice(0, maxFiles);
  const lines = [`${counted(total, "file")}${where}:`, ...shown.map((file) => `- ${file}`)];
  return [...lines, ...(total > shown.length ? [`… and ${total - shown.length} more`] : [])].join("\n");
}

/** For the result of Read, `{path, content, lines}` with numbered lines. */
export function readAnswer(step: Step, on: string): string {
  const path = String(step.args.path ?? "the file");
  const { value, failed } = resultOf(step, `read ${path}`, on);
  if (failed) return failed;
  const content = isRecord(value) ? value.content : value;
  if (typeof content !== "string") return asItIs(value);
  if (content === "") return `${path}${on} is empty.`;
  const { shown, hidden } = bounded(content.replaceAll(/^ *\d+\t/gm, ""), "beginning");
  const isCut = isRecord(value) && value.truncated === true;
  const rest = hidden > 0 && !isCut ? [`… and ${counted(hidden, "more line")}`] : isCut ? ["… and more"] : [];
  return [`${path}${on}:`, fenced(shown, /\.(\w{1,8})$/.exec(path)?.[1]), ...rest].join("\n");
}

/** For the result of Bash, `{status, exitCode, output}`. */
export function runAnswer(step: Step, on: string): string {
  const command = String(step.args.command ?? "");
  const { value, failed } = resultOf(step, `run ${command}`, on);
  if (failed) return failed;
  if (!isRecord(value)) return asItIs(value);
  const said = `\`${command}\`${on}`;
  if (value.status === "running" && step.args.background === true)
    return `${said} runs in the background; I will say how it ended.`;
  if (value.status === "running") return `${said} is still running (session ${value.sessionId}).`;
  return `${said}${endingOf(value)}:\n${outputText(String(value.output ?? value.tail ?? ""))}`;
}

/** For the end of a command that ran in the background: docs/background-commands.md. @param report JSON */
export function endedAnswer(report: string): string {
  const value = parse(report);
  if (!isRecord(value)) return asItIs(report);
  const ended = endingOf({ ...value, timedOut: value.event === "timed_out", status: value.event });
  return `The command in the background on ${value.nodeId}${ended || " is done"}:\n${outputText(String(value.outputTail ?? ""))}`;
}

/** The end of what a command printed. */
function outputText(output: string): string {
  const { shown, hidden } = bounded(output, "end");
  return [
    ...(hidden > 0 ? [`(the first ${counted(hidden, "line")} left out)`] : []),
    shown.trim() === "" ? "(no output)" : fenced(shown),
  ].join("\n");
}

/** The value of a result, or a sentence about its failure. */
export function resultOf(step: Step, doing: string, on = ""): { value?: unknown; failed?: string } {
  if (step.outcome.ok) return { value: step.outcome.value };
  return { failed: `I could not ${doing}${on}: ${step.outcome.error}` };
}

function endingOf(value: Record<string, unknown>): string {
  if (value.timedOut === true) return " ran out of time and was ended";
  if (typeof value.signal === "string") return ` was ended by ${value.signal}`;
  if (typeof value.exitCode === "number" && value.exitCode !== 0)
    return ` ended with exit code ${value.exitCode}`;
  return value.status === "failed" ? " failed" : "";
}

/** A result of an unknown shape. */
function asItIs(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null, null, 2);
  return fenced(bounded(text, "beginning").shown);
}

function relativeTo(base: string, path: string): string {
  const folder = base.endsWith("/") ? base : `${base}/`;
  return base !== "" && path.startsWith(folder) ? path.slice(folder.length) : path;
}
