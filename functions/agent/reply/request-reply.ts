import { deliverToReceiver } from "../../../shared/channels/receiver.ts";
import { isGoodToken, revoked } from "../../../shared/peers/tokens.ts";
import { code, errorShape, type PeerError } from "../../../shared/protocol/errors.ts";
import { errorFrame, okFrame, type ResponseFrame } from "../../../shared/protocol/frames.ts";
import type { Results } from "../../../shared/protocol/results.ts";
import type { InboxEntry } from "../../../shared/session/inbox-entry.ts";
import { senderOf } from "../../../shared/session/run.ts";
import type { Agent } from "../agent.ts";
import { withoutProviderWords } from "../model/provider-error-text.ts";

/** A request in the inbox: a command, or a method that is answered once it is carried out. */
type AnsweredEntry = Exclude<InboxEntry, { kind: "message" }>;

type Answering = Pick<Agent, "channels" | "configuration" | "sockets" | "table" | "now">;

/** The methods that the agent answers; their names contain the kind of the entry. */
type AnsweredMethod = `session.${AnsweredEntry["kind"]}`;

/**
 * Answers the request of an entry, in the form of the request: a method's result, or a command's reply. A former owner gets none.
 * @throws what the socket or the channel throws
 */
export async function answerEntry<K extends AnsweredEntry["kind"]>(
  agent: Answering,
  entry: Extract<AnsweredEntry, { kind: K }>,
  result: Results[`session.${K}`],
  command: string,
  response: string,
): Promise<void> {
  const reply = (id: string) =>
    entry.via === "method"
      ? okFrame<AnsweredMethod>(id, result)
      : okFrame<"chat.send">(id, { status: "command", command, response });
  await send(agent, entry, response, reply);
}

/**
 * Like `answerEntry`, for a request that failed: a method's error response, or a command's error.
 * @param fault the code of the error response; by default the request may be tried again
 */
export async function refuseEntry(
  agent: Answering,
  entry: AnsweredEntry,
  command: string,
  error: string,
  fault: Pick<PeerError, "code" | "retryable"> = { code: code.unavailable, retryable: true },
): Promise<void> {
  const { retryable } = fault;
  const refusal = { code: fault.code, message: error, ...(retryable === undefined ? {} : { retryable }) };
  const reply = (id: string) =>
    entry.via === "method"
      ? errorFrame(id, refusal)
      : okFrame<"chat.send">(id, { status: "command", command, error });
  await send(agent, entry, withoutProviderWords(error), reply);
}

async function send(
  agent: Answering,
  entry: AnsweredEntry,
  text: string,
  frame: (requestId: string) => ResponseFrame,
): Promise<void> {
  const { sockets, table, now } = agent;
  const { origin, id, role } = entry;
  if (origin.kind === "channel") {
    const sender = role === "guest" ? undefined : senderOf(entry);
    await deliverToReceiver(agent, { origin, sender }, id, text, { deliveryId: id });
  } else if (origin.connectionId && origin.requestId) {
    const isGood = origin.tokenId === undefined || (await isGoodToken(table, origin.tokenId, now()));
    const { requestId } = origin;
    await sockets.post(
      origin.connectionId,
      isGood ? frame(requestId) : errorFrame(requestId, errorShape(revoked())),
    );
  }
}
