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
  checkUpload(await again(() => fetchWhole(url, request)));
}

/** Uploads a file. @param onSent called with the number of its bytes that are sent @throws as `putBytes` */
export async function putFile(url: string, file: Blob, onSent: (bytes: number) => void): Promise<void> {
  checkUpload(await again(() => sendFile(url, file, onSent)));
}

function checkUpload({ status }: { status: number }): void {
  if (status >= 300) throw new WireError(413, `the storage refused the upload (HTTP ${status})`);
}

/** Only XMLHttpRequest reports progress. It has the status 0 when the storage cannot be reached. */
async function sendFile(url: string, file: Blob, onSent: (bytes: number) => void): Promise<XMLHttpRequest> {
  const request = new XMLHttpRequest();
  request.open("PUT", url);
  request.timeout = transferMs;
  request.setRequestHeader("content-type", "application/octet-stream");
  request.upload.onprogress = ({ loaded }) => onSent(loaded);
  await new Promise((resolve) => {
    request.onloadend = resolve;
    request.send(file);
  });
  if (request.status === 0) throw new Error("the storage cannot be reached");
  return request;
}

/** Fetches the whole frame that a frame refers to. @throws WireError 503 */
export async function fetchFrame(url: string): Promise<Frame> {
  const response = await again(() => fetchWhole(url, {}));
  if (!response.ok) throw new WireError(503, `the storage answered HTTP ${response.status}`, true);
  return (await response.json()) as Frame;
}

function fetchWhole(url: string, request: RequestInit): Promise<Response> {
  return fetch(url, { ...request, signal: AbortSignal.timeout(transferMs) });
}

/** Sends a request again while the storage fails. @throws WireError 503 when it cannot be reached */
async function again<T extends { status: number }>(send: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      const answer = await send();
      if (answer.status < 500 || tries === maxTries) return answer;
    } catch {
      if (tries === maxTries) throw new WireError(503, "the gateway's storage cannot be reached", true);
    }
    await new Promise((resolve) => setTimeout(resolve, 250 * 2 ** tries));
  }
}
