import { type ModelRef, type ThinkingLevel, thinkingLevels } from "../../protocol/schemas.ts";
import type { Overrides } from "../inbox-entry.ts";

/** What stood in a message for that message alone, and the text without it. */
export interface Directives {
  overrides: Overrides;
  /** `/status` was asked for. */
  status: boolean;
  /** The rest of the message, as it was. */
  text: string;
}

/** A word that may be a directive, with the blanks behind it (not line breaks), standing between white space. */
const word = /(?<=^|\s)\/(think|t|model|m|status)(?::(\S+))?(?=\s|$)[^\S\n]*/gi;

/**
 * Finds `/think:L`, `/t:L`, `/model:sel`, `/m:sel` and `/status` anywhere in a message. A word with an invalid level or
 * selector is no directive and stays in the text.
 * @param current the session's model: a bare model id keeps its provider
 */
export function parseDirectives(message: string, current: ModelRef): Directives {
  const overrides: Overrides = {};
  let status = false;
  const text = message.replace(word, (whole, name: string, value: string | undefined) => {
    switch (name.toLowerCase()) {
      case "status":
        if (value !== undefined) return whole;
        status = true;
        return "";
      case "think":
      case "t": {
        const level = parseThinkingLevel(value ?? "");
        if (!level) return whole;
        overrides.thinkingLevel = level;
        return "";
      }
      default: {
        const model = parseModelSelector(value ?? "", current);
        if (!model) return whole;
        overrides.model = model;
        return "";
      }
    }
  });
  const found = status || overrides.model !== undefined || overrides.thinkingLevel !== undefined;
  return { overrides, status, text: found ? text.trimEnd() : message };
}

/** A level by name or as a number from 0 (off) to 5 (xhigh); undefined when it is neither. */
export function parseThinkingLevel(text: string): ThinkingLevel | undefined {
  const wanted = text.trim().toLowerCase();
  if (/^[0-5]$/.test(wanted)) return thinkingLevels[Number(wanted)];
  return thinkingLevels.find((level) => level === wanted);
}

/** `provider/id`, or an id alone, which keeps the current provider. Undefined when it is neither. */
export function parseModelSelector(text: string, current: ModelRef): ModelRef | undefined {
  const selector = text.trim();
  if (!/^[^\s/]+(\/\S+)?$/.test(selector)) return undefined;
  const slash = selector.indexOf("/");
  if (slash < 0) return { provider: current.provider, id: selector };
  return { provider: selector.slice(0, slash), id: selector.slice(slash + 1) };
}
