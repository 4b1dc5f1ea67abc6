import { isDeepStrictEqual } from "node:util";
import type { ModelCall } from "../../../functions/agent/model/model-call.ts";
import { resultsById, toMessages, toTurns } from "../../../shared/objects/turns.ts";
import { type Message, toolCallsOf } from "../../../shared/protocol/messages.ts";
import { transcriptFault } from "../../conformance/model/programs.ts";
import { numberOf } from "../load/script.ts";
import type { Ledger } from "./ledger.ts";

/**
 * Checks a request to the model. A machine that has lost its session without noticing may send anything: its answer is
 * discarded.
 * @param isStored whether the bucket has an object
 */
export function checkRequest(
  ledger: Ledger,
  machine: string | undefined,
  call: ModelCall,
  isStored: (key: string) => boolean,
): void {
  const sessions = [...ledger.conversations].filter(([, ids]) => ids.at(-1) === call.sessionId);
  if (!sessions.some(([sessionKey]) => ledger.holders.get(sessionKey) === machine)) return;
  const { messages } = call;
  const fault = (what: string) => ledger.fault(`a model gets a conversation in which ${what}`);
  const broken = transcriptFault(messages);
  if (broken) fault(broken);
  const [first] = messages;
  const last = messages.at(-1);
  if (first?.role !== "user") fault("the first message is not the user's");
  if (last?.role === "assistant") fault("the last message is the assistant's");
  if (!isDeepStrictEqual(toMessages(toTurns(messages), resultsById(messages)), messages))
    fault("the turns differ from the messages");
  const ids = messages.flatMap(toolCallsOf).map(({ id }) => id);
  if (new Set(ids).size < ids.length) fault("two calls have one id");
  const numbers = messages.map(numberOf).filter((number) => number !== undefined);
  // The message of a run that is just being committed comes last.
  const begun = ledger.turns.filter((number) => numbers.includes(number));
  if (numbers.some((number, i) => number !== begun[i] && (i < numbers.length - 1 || begun.includes(number))))
    fault(`the messages come as ${numbers.join(", ")}`);
  for (const key of messages.flatMap(imagesOf)) if (!isStored(key)) fault(`the image ${key} does not exist`);
}

/** Keys of the images in a message. */
export function imagesOf({ content }: Message): string[] {
  if (typeof content === "string") return [];
  return content.flatMap((block) => (block.type === "image" && block.r2Key ? [block.r2Key] : []));
}
