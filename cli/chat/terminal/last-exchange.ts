import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import { readCommandEnd } from "../../../shared/session/command-end.ts";
import { moment } from "../../app/columns.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { workOf } from "../missed-answer.ts";

/** Number of newest messages that are searched for the last exchange. */
const maxMessages = 50;

/** Max number of lines shown of an answer. */
const maxLines = 30;

/** The newest user message, its time, and the newest text of its answer. */
export interface LastExchange {
  asked: string;
  when: string;
  /** At most 30 lines. Undefined when there is no answer yet. */
  answer?: string;
  /** Number of omitted lines of the answer. */
  leftOut: number;
  /** A run of the session is in progress. */
  isBusy: boolean;
}

/** Reads the last exchange of a session. Undefined when there is none, or when the request fails. */
export async function readLastExchange(
  gateway: Gateway,
  sessionKey: string,
): Promise<LastExchange | undefined> {
  try {
    const { messages } = await gateway.request("session.preview", { sessionKey, limit: maxMessages });
    const asked = messages.findLastIndex(({ role }) => role === "user");
    const question = messages[asked];
    if (question === undefined) return undefined;
    const answer = messages.slice(asked + 1).findLast((message) => isAnswer(message));
    const lines = answer === undefined ? [] : textOf(answer).trimEnd().split("\n");
    return {
      asked: withoutReport(textOf(question)),
      when: moment(question.timestamp),
      ...(answer && { answer: lines.slice(0, maxLines).join("\n") }),
      leftOut: Math.max(0, lines.length - maxLines),
      isBusy: (await workOf(gateway, sessionKey))?.busy === true,
    };
  } catch {
    return undefined;
  }
}

/** Replaces the report on a background command, which is JSON for the model (docs/background-commands.md). */
function withoutReport(text: string): string {
  return readCommandEnd(text) ? "(a background command has ended)" : text;
}

function isAnswer(message: Message): boolean {
  return message.role === "assistant" && textOf(message) !== "";
}
