import { resolve } from "node:path";
import {
  type ConfigFile,
  fieldNames,
  readConfigFile,
  secretNames,
  updateConfigFile,
} from "../../app/config-file.ts";
import { usage } from "../../app/failure.ts";
import type { Action } from "../../app/program.ts";
import { readSecret } from "../../app/questions.ts";
import { didYouMean } from "../../app/suggestion.ts";
import { checkedNodeId } from "../node/node-settings.ts";
import { checkedUrl } from "./init-command.ts";

export const showLocalConfig: Action = async (context) => {
  const { file } = await context.settings();
  const config = await readConfigFile(file);
  const shown = settingsOf(config).map(
    ([key, value]) => [key, secretNames.includes(key) ? "***" : value] as const,
  );
  const lines = shown.map(([key, value]) => `${key} = ${value}`);
  context.print(
    { file, settings: Object.fromEntries(shown) },
    lines.join("\n") || `${file} has no settings; \`gsv init\` writes them`,
  );
};

export const getLocalConfig: Action = async (context, { args: [key = ""] }) => {
  checkKey(key);
  const { file } = await context.settings();
  const found = settingsOf(await readConfigFile(file)).find(([name]) => name === key);
  context.printExactly({ file, key, value: found?.[1] ?? null }, found?.[1] ?? "(not set)");
};

export const setLocalConfig: Action = async (context, { args: [key = "", given] }) => {
  checkKey(key);
  const { terminal } = context;
  const isAsked = given === undefined || given === "-";
  const text = isAsked ? await readSecret(terminal, key) : given;
  if (text === "") throw usage(`no value for ${key}; pass one, or send it on standard input`);
  if (secretNames.includes(key) && !isAsked)
    context.note(
      "gsv: a secret on the command line remains in the shell's history; use `-` to be asked for it",
    );
  const { file } = await context.settings();
  const [table = "", ...name] = key.split(".");
  await updateConfigFile(file, { [table]: { [name.join(".")]: checkedValue(key, text, terminal.cwd) } });
  context.print({ ok: true, file, key }, `${key} is set in ${file}`);
};

export const showLocalConfigPath: Action = async (context) => {
  const { file } = await context.settings();
  context.print({ file }, file);
};

/** The known settings of a config file, as `table.name` and value. */
function settingsOf(config: ConfigFile): [string, string][] {
  return Object.entries(config).flatMap(([table, values]) =>
    Object.entries(values as Record<string, string>)
      .map(([name, value]): [string, string] => [`${table}.${name}`, value])
      .filter(([key]) => isKnown(key)),
  );
}

function isKnown(key: string): boolean {
  return fieldNames.includes(key) || /^deploy\.[^.]+$/.test(key);
}

function checkKey(key: string): void {
  if (!isKnown(key))
    throw usage(
      `there is no setting ${key}${didYouMean(key, fieldNames)}; use one of ${fieldNames.join(", ")}, deploy.<setting of the stage>`,
    );
}

function checkedValue(key: string, value: string, cwd: string): string {
  if (key === "gateway.url") return checkedUrl(value);
  if (key === "node.id") return checkedNodeId(value);
  if (["chat.cost_line", "discord.rooms"].includes(key) && value !== "on" && value !== "off")
    throw usage(`${key} must be on or off, not ${value}`);
  return key === "node.workspace" && !/^~(\/|$)/.test(value) ? resolve(cwd, value) : value;
}
