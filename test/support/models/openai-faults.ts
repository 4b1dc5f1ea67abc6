import { type OpenAiFault, openAiError } from "./openai-wire/openai-error.ts";
import type { Refusal } from "./scripted-model.ts";

/** A function name both OpenAI APIs take: letters, digits, `_` and `-`, up to `most` characters. */
export function nameFault(name: string, param: string, most: number): OpenAiFault | undefined {
  if (name.length > most) return tooLong(param, name, most);
  if (/^[a-zA-Z0-9_-]+$/.test(name)) return undefined;
  return {
    message: `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
    param,
    code: "invalid_value",
  };
}

/** The refusal of a missing or wrong key. */
export function keyRefusal(authorization: string | undefined, expected?: string): Refusal | undefined {
  const key = authorization?.match(/^Bearer\s+(\S+)$/i)?.[1];
  if (!key) {
    const message =
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).";
    return { status: 401, body: openAiError({ message }) };
  }
  if (!expected || key === expected) return undefined;
  const message = `Incorrect API key provided: ${key.slice(0, 4)}***. You can find your API key at https://platform.openai.com/account/api-keys.`;
  return { status: 401, body: openAiError({ message, code: "invalid_api_key" }) };
}

/** The error body for a status, with the text of "Error codes". */
export function openAiErrorBody(status: number, message: string): unknown {
  if (status === 429) return openAiError({ message, type: "requests", code: "rate_limit_exceeded" });
  if (status === 404) return openAiError({ message, code: "model_not_found" });
  if (status >= 500) return openAiError({ message, type: "server_error" });
  return openAiError({ message });
}

/** The refusal of a string that is too long, with the text of both OpenAI APIs. */
export function tooLong(param: string, value: string, most: number): OpenAiFault {
  return {
    message: `Invalid '${param}': string too long. Expected a string with maximum length ${most}, but got a string with length ${value.length} instead.`,
    param,
    code: "string_above_max_length",
  };
}
