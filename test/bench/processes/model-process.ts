import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "../../../local/http/http-endpoint.ts";
import { type ModelMarks, now } from "../marks.ts";
import { type ModelBody, scriptedReply } from "./scripted-reply.ts";

/**
 * The model server of a bench, in a separate process: answers as `scriptedReply` says, streamed without delay. It records the
 * times at which each request was received and each answer was written; the IPC message "take" returns and clears them.
 */
let marks: Record<string, ModelMarks> = {};

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const asked = now();
  const { run, frames } = scriptedReply(JSON.parse(Buffer.concat(chunks).toString()) as ModelBody);
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const frame of frames) response.write(frame);
  response.end();
  marks[run] ??= { asked: [], answered: [] };
  marks[run].asked.push(asked);
  marks[run].answered.push(now());
}

process.on("disconnect", () => process.exit(0));
process.on("message", () => {
  process.send?.(marks);
  marks = {};
});
const server = createServer((request, response) => {
  serve(request, response).catch((error: Error) => response.destroy(error));
});
const port = await listen(server, 0);
process.send?.({ url: `http://127.0.0.1:${port}/v1` });
