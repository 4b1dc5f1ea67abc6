import type * as v from "valibot";
import {
  formatPath,
  isObject,
  parsePath,
  withValue,
} from "../../../shared/configuration/configuration-paths.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import {
  configurationSchema,
  configurationSecrets,
  findFault,
} from "../../../shared/configuration/schema.ts";
import { code } from "../../../shared/protocol/errors.ts";
import { columns, shorten } from "../../app/columns.ts";
import { Failure, failureOf, usage } from "../../app/failure.ts";
import type { Action } from "../../app/program.ts";
import { askHidden, readAll } from "../../app/questions.ts";
import { closestWord } from "../../app/suggestion.ts";
import type { Terminal } from "../../app/terminal.ts";

export const getConfig: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const answer = await gateway.request("config.get", { path: args[0] });
  const value = "config" in answer ? answer.config : answer.value;
  if (args[0] !== undefined) checkSetting(args[0], value);
  context.printExactly(answer, valueText(value));
};

export const listConfig: Action = async (context, { options }) => {
  const gateway = await context.gateway();
  const answer = await gateway.request("config.get", {});
  const usual = new Map(settingsIn(defaults));
  const isChanged = ([path, value]: Setting) => valueText(usual.get(path)) !== valueText(value);
  const settings = settingsIn("config" in answer ? answer.config : {}).filter(
    (setting) => options.changed !== true || isChanged(setting),
  );
  const rows = settings.map(([path, value]): string[] => {
    const was = isChanged([path, value]) ? shortValue(usual.get(path)) : "";
    return [path, shortValue(value), was];
  });
  const none = "all settings are at their defaults; `gsv config set` changes one";
  const table = columns(["SETTING", "VALUE", "DEFAULT, WHERE CHANGED"], rows);
  context.print({ settings: Object.fromEntries(settings) }, rows.length > 0 ? table : none);
};

export const unsetConfig: Action = async (context, { args: [path = ""] }) => {
  const gateway = await context.gateway();
  const before = await gateway.request("config.get", { path });
  checkSetting(path, "value" in before ? before.value : undefined);
  const result = await gateway.request("config.set", { path, value: null });
  context.print(result, `${path} was reset to its default`);
};

export const setConfig: Action = async (context, { args }) => {
  const [path = "", given] = args;
  const text = await valueFor(path, given, context.terminal);
  // A secret is always a string, even if it is valid JSON, such as a number.
  const isSecret = configurationSecrets.includes(parsePath(path)) && text !== "null";
  const value = isSecret ? text : parseValue(parsePath(path), text);
  if (isSecret && given === text)
    context.note(
      "gsv: a secret on the command line remains in the shell's history; use `-` to be asked for it",
    );
  const gateway = await context.gateway();
  const result = await gateway.request("config.set", { path, value }).catch((error: unknown) => {
    const { meant } = findSetting(parsePath(path));
    throw meant === undefined ? error : withSuggestion(error, meant);
  });
  context.print(result, value === null ? `${path} was reset to its default` : `${path} is set`);
};

/** The value of a setting: from the command line, from standard input, or from a hidden prompt. */
async function valueFor(path: string, given: string | undefined, terminal: Terminal): Promise<string> {
  if (given !== undefined && given !== "-") return given;
  if (terminal.stdin.isTTY) return askHidden(terminal, path);
  const text = await readAll(terminal.stdin);
  if (text === "") throw usage(`no value for ${path}; pass one, or send it on standard input`);
  return text;
}

/** Parses a value as JSON when valid, otherwise as text. A number remains text when the setting is a string. */
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

/** A path of the configuration, and its value. */
type Setting = readonly [path: string, value: unknown];

/** Every setting of a configuration. Objects are expanded; lists are values. */
function settingsIn(value: unknown, path: readonly string[] = []): Setting[] {
  if (!isObject(value)) return [[formatPath(path), value]];
  return Object.entries(value).flatMap(([name, child]) => settingsIn(child, [...path, name]));
}

/** @throws Failure when a path has no value because the setting does not exist */
function checkSetting(path: string, value: unknown): void {
  if (value !== undefined && value !== null) return;
  const { isKnown, meant } = findSetting(parsePath(path));
  if (isKnown) return;
  const suggestion = meant === undefined ? "" : ` (did you mean ${meant}?)`;
  throw new Failure(
    code.notFound,
    `there is no setting ${path}${suggestion}; \`gsv config list\` shows them`,
  );
}

/** Appends the suggested setting to an error of the gateway. */
function withSuggestion(error: unknown, meant: string): Failure {
  const { kind, message } = failureOf(error);
  return new Failure(kind, `${message} (did you mean ${meant}?)`);
}

/** Max length of a value in a list, in characters. --json shows complete values. */
const maxValueChars = 60;

function shortValue(value: unknown): string {
  return shorten(typeof value === "object" ? JSON.stringify(value) : valueText(value), maxValueChars);
}

function valueText(value: unknown): string {
  if (value === undefined || value === null) return "(not set)";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** The parts of a valibot schema that contain the nested settings. */
interface SchemaParts {
  type: string;
  pipe?: readonly SchemaParts[];
  wrapped?: v.GenericSchema;
  entries?: Record<string, v.GenericSchema>;
  value?: v.GenericSchema;
}

/** Whether this version of gsv knows a setting, and the closest known one. */
interface SettingName {
  isKnown: boolean;
  /** The path with its first unknown name replaced; absent when no known name is similar. */
  meant?: string;
}

/** Looks a setting up in the configuration schema. Names that the user chooses, such as a channel's, count as known. */
function findSetting(path: readonly string[]): SettingName {
  let schema: v.GenericSchema | undefined = configurationSchema;
  for (const [index, name] of path.entries()) {
    const { type, entries, value } = unwrapped(schema);
    if (type === "record") {
      schema = value;
      continue;
    }
    schema = entries?.[name];
    if (schema !== undefined) continue;
    const closest = closestWord(name, Object.keys(entries ?? {}));
    if (closest === undefined) return { isKnown: false };
    return {
      isKnown: false,
      meant: formatPath([...path.slice(0, index), closest, ...path.slice(index + 1)]),
    };
  }
  return { isKnown: true };
}

/** Unwraps optional schemas and pipes. */
function unwrapped(schema: v.GenericSchema | undefined): SchemaParts {
  const parts = schema as unknown as SchemaParts;
  if (parts.wrapped) return unwrapped(parts.wrapped);
  return parts.pipe?.[0] ?? parts;
}
