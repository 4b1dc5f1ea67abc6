import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "../../../local/http/http-endpoint.ts";
import { type ChatReply, chatChunks, encodeFrame } from "../../support/models/openai-wire/chat-reply.ts";
import { type ModelMarks, now } from "../marks.ts";

/**
 * The model server of a bench, in a separate process: OpenAI's chat completions, streamed without delay. A message
 * "plain {run}" gets a text, "tool {run}" a call of the tool `laptop__Glob` and, after its result, a text. It records the
 * times at which each request was received and each answer was written; the IPC message "take" returns and clears them.
 */
let marks: Record<string, ModelMarks> = {};

interface Body {
  model: string;
  stream_options?: { include_usage?: boolean };
  messages: { role: string; content: string | { text?: string }[] | null }[];
}

const usage = { prompt: 1000, completion: 10 };
let count = 0;

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const asked = now();
  const { model, messages, stream_options } = JSON.parse(Buffer.concat(chunks).toString()) as Body;
  const last = textOf(messages.findLast(({ role }) => role === "user")?.content);
  const [kind, run = ""] = last.split(" ");
  const hasResult = messages.at(-1)?.role === "tool";
  const reply: Pick<ChatReply, "text" | "toolCalls" | "finishReason"> =
    kind === "tool" && !hasResult
      ? { text: [], toolCalls: [callOf(run)], finishReason: "tool_calls" }
      : { text: ["done"], toolCalls: [], finishReason: "stop" };
  const created = Math.floor(Date.now() / 1000);
  response.writeHead(200, { "content-type": "text/event-stream" });
  const chunksOf = chatChunks(
    { id: `chatcmpl-${count++}`, model, created, usage, ...reply },
    stream_options?.include_usage === true,
  );
  for (const frame of chunksOf) response.write(encodeFrame(frame));
  response.end();
  marks[run] ??= { asked: [], answered: [] };
  marks[run].asked.push(asked);
  marks[run].answered.push(now());
}

function textOf(content: Body["messages"][number]["content"] | undefined): string {
  if (typeof content === "string") return content;
  // The first block is the message; the gateway appends another one.
  return content?.[0]?.text ?? "";
}

function callOf(run: string): ChatReply["toolCalls"][number] {
  return { id: `call_${run}`, name: "laptop__Glob", arguments: [JSON.stringify({ run })] };
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
