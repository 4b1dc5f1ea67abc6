import type { ExportFormat } from "../protocol/objects.ts";
import type { Adapter, ExportedConversation } from "./adapter.ts";
import { toAnthropic } from "./anthropic-adapter.ts";
import { toNexo } from "./nexo-adapter.ts";
import { toOpenAi } from "./openai-adapter.ts";
import { redactStrings } from "./redaction.ts";
import { toTurnLines } from "./turns-adapter.ts";

/** How each format is written. A new one needs a line here, and its name in `exportFormats`. */
const adapters: Record<ExportFormat, Adapter> = {
  pi: ({ messages }) => messages,
  turns: toTurnLines,
  openai: toOpenAi,
  anthropic: toAnthropic,
  nexo: toNexo,
};

/**
 * The lines of JSON of a conversation in a format, without line ends.
 * @param redact secrets are replaced by `[REDACTED:label]`
 */
export function* exportLines(
  conversation: ExportedConversation,
  format: ExportFormat,
  redact: boolean,
): Generator<string> {
  for (const line of adapters[format](conversation))
    yield JSON.stringify(redact ? redactStrings(line) : line);
}
