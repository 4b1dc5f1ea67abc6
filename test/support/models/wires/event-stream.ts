import { crc32 } from "node:zlib";
import type { StreamFrame } from "../openai-wire/chat-reply.ts";

/** Encodes a frame. If its event is the name of an exception, the stream ends with that exception. */
export function encodeEvent({ event = "", data }: StreamFrame): Uint8Array {
  const isException = event.endsWith("Exception");
  const headers = Buffer.concat([
    header(":message-type", isException ? "exception" : "event"),
    header(isException ? ":exception-type" : ":event-type", event),
    header(":content-type", "application/json"),
  ]);
  const payload = Buffer.from(JSON.stringify(data));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(16 + headers.length + payload.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  const message = Buffer.concat([prelude, checksum(prelude), headers, payload]);
  return Buffer.concat([message, checksum(message)]);
}

/** A header of type 7, a string. */
function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(value));
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([7]),
    length,
    Buffer.from(value),
  ]);
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}
