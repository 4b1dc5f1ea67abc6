import type { Frame } from "../../shared/protocol/frames.ts";
import { WireError } from "./wire-error.ts";

/**
 * Largest request in one message, in bytes. API Gateway closes a connection that sends a WebSocket frame above 32 KB, and a
 * browser does not split messages.
 */
export const maxMessageBytes = 30_000;

const maxTries = 3;
const transferMs = 120_000;

/** Uploads bytes to a presigned URL. @throws WireError 413 when the storage refuses them or cannot be reached */
export async function putBytes(
  url: string,
  body: Blob | Uint8Array<ArrayBuffer>,
  contentType: string,
): Promise<void> {
  const request = { method: "PUT", body, headers: { "content-type": contentType } };
  const response = await fetchAgain(url, request);
  if (!response.ok) throw new WireError(413, `the storage refused the upload (HTTP ${response.status})`);
}

/** Fetches the whole frame that a frame refers to. @throws WireError 503 */
export async function fetchFrame(url: string): Promise<Frame> {
  const response = await fetchAgain(url, {});
  if (!response.ok) throw new WireError(503, `the storage answered HTTP ${response.status}`, true);
  return (await response.json()) as Frame;
}

async function fetchAgain(url: string, request: RequestInit): Promise<Response> {
  for (let tries = 1; ; tries++) {
    try {
      const response = await fetch(url, { ...request, signal: AbortSignal.timeout(transferMs) });
      if (response.status < 500 || tries === maxTries) return response;
    } catch {
      if (tries === maxTries) throw new WireError(503, "the gateway's storage cannot be reached", true);
    }
    await new Promise((resolve) => setTimeout(resolve, 250 * 2 ** tries));
  }
}
