import { parsePath, withValue } from "../../../shared/configuration/configuration-paths.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import { configurationSecrets, findFault } from "../../../shared/configuration/schema.ts";
import { usage } from "../../app/failure.ts";
import type { Action } from "../../app/program.ts";
import { askHidden, readAll } from "../../app/questions.ts";
import type { Terminal } from "../../app/terminal.ts";

export const getConfig: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const answer = await gateway.request("config.get", { path: args[0] });
  const value = "config" in answer ? answer.config : answer.value;
  context.print(answer, valueText(value));
};

export const setConfig: Action = async (context, { args }) => {
  const [path = "", given] = args;
  const text = await valueFor(path, given, context.terminal);
  // A secret is always a string, even if it is valid JSON, such as a number.
  const isSecret = configurationSecrets.includes(parsePath(path)) && text !== "null";
  const value = isSecret ? text : parseValue(parsePath(path), text);
  if (isSecret && given === text)
    context.note("gsv: a secret on the command line stays in the shell's history; `-` asks for it instead");
  const gateway = await context.gateway();
  const result = await gateway.request("config.set", { path, value });
  context.print(result, value === null ? `${path} is back to its default` : `${path} is set`);
};

/** The value of a setting: from the command line, from standard input, or from a hidden prompt. */
async function valueFor(path: string, given: string | undefined, terminal: Terminal): Promise<string> {
  if (given !== undefined && given !== "-") return given;
  if (terminal.stdin.isTTY) return askHidden(terminal, path);
  const text = await readAll(terminal.stdin);
  if (text === "") throw usage(`no value for ${path}: give one, or send it on standard input`);
  return text;
}

/** Parses a value as JSON when valid, otherwise as text. A number stays text when the setting is a string. */
function parseValue(path: string[], text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  if (typeof value !== "number" && typeof value !== "boolean") return value;
  const fault = findFault(withValue({ ...defaults }, path, value));
  return fault && findFault(withValue({ ...defaults }, path, text)) === undefined ? text : value;
}

function valueText(value: unknown): string {
  if (value === undefined || value === null) return "(not set)";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
