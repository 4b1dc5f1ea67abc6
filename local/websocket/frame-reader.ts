import type { WebSocketLimits } from "./websocket-limits.ts";

/** Why API Gateway closes a connection because of a frame: the close code and its reason. */
export interface FrameViolation {
  code: 1003 | 1009;
  reason: string;
}

const opcodes = { continuation: 0, text: 1, binary: 2 };

/**
 * Follows a client's byte stream from frame header to frame header (RFC 6455, section 5.2), because the limits are on
 * frames and `ws` reports whole messages only. Payloads are skipped, not kept.
 */
export class FrameReader {
  private readonly limits: Pick<WebSocketLimits, "messageBytes" | "frameBytes">;
  private header: number[] = [];
  /** Bytes of the current frame's payload still to come. */
  private rest = 0;
  /** Payload bytes of the current message's frames so far. */
  private messageBytes = 0;

  constructor(limits: Pick<WebSocketLimits, "messageBytes" | "frameBytes">) {
    this.limits = limits;
  }

  /** @returns the first violation that the chunk shows, as soon as the frame's header is there */
  read(chunk: Uint8Array): FrameViolation | undefined {
    let offset = 0;
    while (offset < chunk.length) {
      if (this.rest > 0) {
        const skipped = Math.min(this.rest, chunk.length - offset);
        this.rest -= skipped;
        offset += skipped;
        continue;
      }
      this.header.push(chunk[offset] ?? 0);
      offset += 1;
      if (this.header.length < headerLength(this.header)) continue;
      const violation = this.startFrame(this.header);
      this.header = [];
      if (violation) return violation;
    }
    return undefined;
  }

  private startFrame(header: number[]): FrameViolation | undefined {
    const [first = 0] = header;
    const opcode = first & 0x0f;
    const isLast = (first & 0x80) !== 0;
    const length = payloadLength(header);
    this.rest = length;
    if (opcode > opcodes.binary) return undefined;
    if (opcode === opcodes.binary) return { code: 1003, reason: "Binary frames are not supported" };
    this.messageBytes = opcode === opcodes.text ? length : this.messageBytes + length;
    if (length > this.limits.frameBytes) return { code: 1009, reason: "Frame too big" };
    if (this.messageBytes > this.limits.messageBytes) return { code: 1009, reason: "Message too big" };
    if (isLast) this.messageBytes = 0;
    return undefined;
  }
}

/** Length of the whole header, as far as its bytes tell. */
function headerLength([, second]: number[]): number {
  if (second === undefined) return 2;
  const length = second & 0x7f;
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + ((second & 0x80) !== 0 ? 4 : 0);
}

function payloadLength(header: number[]): number {
  const length = (header[1] ?? 0) & 0x7f;
  if (length < 126) return length;
  const bytes = header.slice(2, length === 126 ? 4 : 10);
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}
