import type { GatewayLink } from "../../shared/peers/gateway-link.ts";
import { code, PeerError } from "../../shared/protocol/errors.ts";
import type { ChatEvent, ChatReply } from "../../shared/protocol/events.ts";
import { textOf, type Usage } from "../../shared/protocol/messages.ts";
import type { ChatRequest } from "./chat-request.ts";

/** Max time without an event, in milliseconds. Then the client gets a sign of life, and the run is looked up. */
const quietMs = 15_000;

/** Max time of a request, in milliseconds: the function's time limit is 15 minutes. */
const maxMs = 14 * 60_000;

/** The next text of a run, nothing for a sign of life, or its end. */
export type Piece = { text: string } | "alive" | { end: true; isCut: boolean; usage?: Usage };

/** The run has failed, or its answer did not come in time: repeating the request would begin another one. */
export class RunFailed extends Error {}

/**
 * Sends a message to its session and returns the text of its run, piece by piece. A run that has ended is not repeated. The
 * run does not end with this loop.
 * @param sessionKey of the agent's session
 * @throws PeerError the gateway's refusal of the message
 */
export async function beginRun(
  link: GatewayLink,
  sessionKey: string,
  { runId, isNamed, text: message, media }: ChatRequest,
): Promise<AsyncGenerator<Piece>> {
  const before = isNamed ? await link.request("chat.result", { sessionKey, runId }) : undefined;
  if (before?.status === "done") return only(before.text);
  if (before?.status === "failed") throw new RunFailed(before.error);
  const events = openQueue(link, runId);
  const stored = [];
  for (const { bytes, ...attachment } of media)
    stored.push({ ...attachment, dataRef: await link.upload(bytes) });
  const reply = await link.request("chat.send", {
    sessionKey,
    message,
    media: stored,
    runId,
    keepAnswer: true,
  });
  if (reply.status !== "started") {
    if ("error" in reply && reply.error !== undefined) throw new PeerError(code.badRequest, reply.error);
    return only(reply.response ?? "Done.");
  }
  const findEnd = () => link.request("chat.result", { sessionKey, runId });
  return followRun(events, findEnd);
}

async function* only(text: string): AsyncGenerator<Piece> {
  yield { text };
  yield { end: true, isCut: false };
}

/** The events of a run. */
interface Queue {
  /** The next one; undefined after `ms` without any. */
  next(ms: number): Promise<ChatEvent | undefined>;
}

function openQueue(link: GatewayLink, runId: string): Queue {
  const events: ChatEvent[] = [];
  let notify = () => {};
  link.onChat((event) => {
    if (event.runId !== runId) return;
    events.push(event);
    notify();
  });
  void link.ended.then(() => notify());
  return {
    async next(ms) {
      if (events.length === 0)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          notify = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      return events.shift();
    },
  };
}

async function* followRun(
  events: Queue,
  findEnd: () => Promise<{ status: string; text?: string; error?: string }>,
): AsyncGenerator<Piece> {
  const until = Date.now() + maxMs;
  /** Text of the model call that is streaming, as far as it was sent. */
  let ofCall = "";
  let isFirst = true;
  const sent = (text: string, isNewCall: boolean): Piece[] => {
    if (text === "") return [];
    const piece = isNewCall && !isFirst ? `\n\n${text}` : text;
    isFirst = false;
    return [{ text: piece }];
  };
  while (Date.now() < until) {
    const event = await events.next(quietMs);
    if (event === undefined) {
      yield "alive";
      const found = await findEnd();
      if (found.status === "done") {
        yield* sent(...restOf(ofCall, found.text ?? ""));
        yield { end: true, isCut: false };
        return;
      }
      if (found.status === "failed") throw new RunFailed(found.error);
      if (found.status === "unknown") throw new RunFailed("the run has ended without an answer");
    } else if (event.state === "delta") {
      yield* sent(event.text, event.seq === 0);
      ofCall = event.seq === 0 ? event.text : ofCall + event.text;
    } else if (event.state === "partial" || event.state === "final") {
      yield* sent(...restOf(ofCall, await wholeText(event, findEnd)));
      ofCall = "";
      if (event.state === "partial") continue;
      yield { end: true, isCut: event.message.stopReason === "length", usage: event.message.usage };
      return;
    } else if (event.state === "error") throw new RunFailed(event.error);
  }
  throw new RunFailed("the run takes long and continues; repeat the request with its Idempotency-Key");
}

async function wholeText(
  { message, truncated }: ChatReply,
  findEnd: () => Promise<{ text?: string }>,
): Promise<string> {
  return truncated ? ((await findEnd()).text ?? textOf(message)) : textOf(message);
}

/** What is not sent of a text whose begin may be, and whether it begins again. */
function restOf(sent: string, text: string): [rest: string, isNewCall: boolean] {
  return text.startsWith(sent) ? [text.slice(sent.length), sent === ""] : [text, true];
}
