import * as v from "valibot";
import type { Results } from "../../../shared/protocol/results.ts";
import {
  parseThinkingLevel,
  type ResetPolicy,
  resetPolicyField,
  thinkingLevels,
} from "../../../shared/protocol/schemas.ts";
import { usage } from "../../app/failure.ts";
import { wholeNumber } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { didYouMean } from "../../app/suggestion.ts";
import { keyOf } from "./session-commands.ts";

type Patch = Record<string, unknown>;

/** Converts a value to a patch, or to a function of the current session. @throws Failure (usage) with the valid values */
type Change = (value: string) => Patch | ((current: Results["session.get"]) => Patch);

/** A setting that the value `default` clears. */
const setting =
  (name: string, parse: (value: string) => unknown): Change =>
  (value) => ({ settings: { [name]: value === "default" ? null : parse(value) } });

const changes: Record<string, Change> = {
  model: (value) => (value === "default" ? { settings: { model: null } } : modelChange(value)),
  thinking: setting("thinkingLevel", thinkingLevel),
  prompt: setting("systemPrompt", String),
  "max-tokens": setting("maxTokens", (value) => wholeNumber("max-tokens", value, 1, 1_000_000)),
  label: (value) => ({ label: value === "default" ? null : value }),
  reset: (value) => ({ resetPolicy: value === "default" ? null : resetPolicy(value) }),
  "resetPolicy.mode": (value) => (current) => ({
    resetPolicy: checkedPolicy({ ...current.resetPolicy, mode: value }, value),
  }),
  "resetPolicy.atHour": (value) => ({ resetPolicy: resetPolicy(`daily:${value}`) }),
  "resetPolicy.idleMinutes": (value) => ({ resetPolicy: resetPolicy(`idle:${value}`) }),
};

/** GSV's names of the settings. */
const synonyms: Record<string, string> = {
  thinkingLevel: "thinking",
  systemPrompt: "prompt",
  maxTokens: "max-tokens",
  resetPolicy: "reset",
};

/** Accepts `<setting> <value> [sessionKey]`, and GSV's order `<sessionKey> <setting> <value>`. */
export const setSession: Action = async (context, { args }) => {
  const [first = "", second = "", third] = args;
  const keyFirst = third !== undefined && changeOf(first) === undefined;
  const [name, value, key] = keyFirst ? [second, third, first] : [first, second, third];
  const change = changeOf(name);
  if (change === undefined)
    throw usage(
      `there is no setting ${name}${didYouMean(name, [...Object.keys(changes), ...Object.keys(synonyms)])}; use one of model, thinking, prompt, max-tokens, label, reset`,
    );
  const patch = change(value);
  const gateway = await context.gateway();
  const sessionKey = await keyOf(context, key);
  const made =
    typeof patch === "function" ? patch(await gateway.request("session.get", { sessionKey })) : patch;
  const result = await gateway.request("session.patch", { sessionKey, ...made });
  context.print(result, `${sessionKey}: ${name} is now ${value}`);
};

function changeOf(given: string): Change | undefined {
  const path = given.replace(/^settings\./, "");
  const name = Object.hasOwn(synonyms, path) ? (synonyms[path] ?? path) : path;
  return Object.hasOwn(changes, name) ? changes[name] : undefined;
}

function thinkingLevel(value: string): string {
  const level = parseThinkingLevel(value);
  if (level) return level;
  throw usage(`thinking must be one of ${thinkingLevels.join(", ")} or default, not ${value}`);
}

function modelChange(value: string): ReturnType<Change> {
  const slash = value.indexOf("/");
  if (slash > 0)
    return { settings: { model: { provider: value.slice(0, slash), id: value.slice(slash + 1) } } };
  return ({ settings }) => {
    const provider = settings.model?.provider;
    if (provider === undefined) throw usage(`model must be provider/id, for example anthropic/${value}`);
    return { settings: { model: { provider, id: value } } };
  };
}

function resetPolicy(value: string): ResetPolicy {
  const [mode, number] = value.split(":");
  const count = number === undefined || number === "" ? undefined : Number(number);
  const when = mode === "daily" ? { atHour: count } : mode === "idle" ? { idleMinutes: count } : {};
  return checkedPolicy({ mode, ...when }, value);
}

function checkedPolicy(policy: unknown, value: string): ResetPolicy {
  const checked = v.safeParse(resetPolicyField, policy);
  if (checked.success) return checked.output;
  throw usage(`reset must be manual, daily:HOUR (0 to 23), idle:MINUTES or default, not ${value}`);
}
