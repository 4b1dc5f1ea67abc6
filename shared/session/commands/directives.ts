import { type ModelRef, parseThinkingLevel } from "../../protocol/schemas.ts";
import type { Overrides } from "../inbox-entry.ts";

/** The directives of a message, and its text without them. */
export interface Directives {
  overrides: Overrides;
  /** The message has a `/status` directive. */
  status: boolean;
  /** The rest of the message, otherwise unchanged. */
  text: string;
}

/** A possible directive between white space, with the blanks after it but no line break. */
const word = /(?<=^|\s)\/(think|t|model|m|status)(?::(\S+))?(?=\s|$)[^\S\n]*/gi;

/**
 * Finds `/think:L`, `/t:L`, `/model:sel`, `/m:sel` and `/status` anywhere in a message. A word with an
 * invalid level or selector is not a directive and stays in the text.
 * @param current the session's model, whose provider applies to a model id without provider
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

/** Parses `provider/id`, or an id of the current provider. Undefined for any other text. */
export function parseModelSelector(text: string, current: ModelRef): ModelRef | undefined {
  const selector = text.trim();
  if (!/^[^\s/]+(\/\S+)?$/.test(selector)) return undefined;
  const slash = selector.indexOf("/");
  if (slash < 0) return { provider: current.provider, id: selector };
  return { provider: selector.slice(0, slash), id: selector.slice(slash + 1) };
}
