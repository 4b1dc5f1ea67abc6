import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { openEventStream, sendJson, write } from "../../../../local/http/loopback.ts";
import { encodeFrame, inPieces } from "../openai-wire/chat-reply.ts";
import type { Accepted, ModelRequest, Refusal, Reply, ResolvedReply, Wire } from "./script.ts";

/** The answer to a request, after it was recorded and the script was called. */
export type Decision = { status: number; body: unknown; headers?: Record<string, string> } | Played;

interface Played {
  wire: Wire;
  accepted: Accepted;
  reply: Reply;
  resolved: ResolvedReply;
}

/** Marks a connection closed by the server itself, so that it does not count as an aborted client. */
const CUT = new Error("connection dropped by the script");

/**
 * The script's answer to an accepted request.
 * @param length of the request, in characters
 */
export function decision(
  wire: Wire,
  seen: ModelRequest,
  accepted: Accepted,
  reply: Reply,
  length: number,
): Decision {
  if (reply.error) {
    const { status, message = `scripted error ${status}` } = reply.error;
    const { body = wire.errorBody(status, message), headers } = reply.error;
    return refused(wire, seen, { status, body }, headers);
  }
  seen.status = 200;
  return { wire, accepted, reply, resolved: resolveReply(reply, length) };
}

export function refused(
  wire: Wire,
  seen: ModelRequest,
  { status, body }: Refusal,
  headers: Record<string, string> = {},
): Decision {
  seen.status = status;
  seen.refused = body;
  return { status, body, headers: { ...wire.headers(), ...headers } };
}

/** Answers a request. */
export async function answer(response: ServerResponse, made: Decision): Promise<void> {
  if ("status" in made) return sendJson(response, made.status, made.body, made.headers);
  const { wire, accepted, reply, resolved } = made;
  if (reply.hang && resolved.text.length === 0) return;
  if (!accepted.stream) return sendJson(response, 200, accepted.whole(resolved), wire.headers());
  openEventStream(response, wire.headers());
  await play(made, response);
}

/** Streams the frames until the script stops them. */
async function play({ wire, accepted, reply, resolved }: Played, response: ServerResponse): Promise<void> {
  const spoken = resolved.thinking.length + resolved.text.length;
  let pieces = 0;
  const encode = wire.encode ?? encodeFrame;
  for (const frame of accepted.frames(resolved)) {
    if (response.destroyed) return;
    if (reply.cutAfterChunks !== undefined && pieces >= reply.cutAfterChunks)
      return void response.destroy(CUT);
    if (reply.streamError && pieces >= reply.streamError.afterPieces) {
      await write(response, encode(wire.errorFrame(reply.streamError.message)));
      return void response.end();
    }
    if (reply.hang && pieces >= spoken) return;
    if (frame.piece && pieces++ > 0 && reply.delayMs) await delay(reply.delayMs);
    await write(response, encode(frame));
  }
  response.end();
}

function resolveReply(reply: Reply, requestLength: number): ResolvedReply {
  const text = Array.isArray(reply.text) ? reply.text : inPieces(reply.text ?? "", 4);
  const thinking = inPieces(reply.thinking ?? "", 2);
  const toolCalls = (reply.toolCalls ?? []).map((call) => {
    const json = typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments ?? {});
    return { id: call.id, name: call.name, arguments: inPieces(json, 3) };
  });
  const written = [...thinking, ...text, ...toolCalls.flatMap((call) => call.arguments)].join("").length;
  return {
    text,
    thinking,
    toolCalls,
    usage: {
      input: reply.usage?.input ?? Math.ceil(requestLength / 4),
      output: reply.usage?.output ?? Math.ceil(written / 4),
      cacheRead: reply.usage?.cacheRead ?? 0,
      cacheWrite: reply.usage?.cacheWrite ?? 0,
    },
    refusal: inPieces(reply.refusal ?? "", 2),
    blocked: reply.blocked ?? false,
    withoutUsage: reply.withoutUsage ?? false,
    stopReason: reply.stopReason ?? (toolCalls.length > 0 ? "toolUse" : "stop"),
  };
}
