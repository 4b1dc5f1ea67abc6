import { randomUUID } from "node:crypto";
import { type ChatReply, chatChunks, encodeFrame } from "../../support/models/openai-wire/chat-reply.ts";

/** A request of OpenAI's chat completions, as far as the script reads it. */
export interface ModelBody {
  model: string;
  stream_options?: { include_usage?: boolean };
  messages: { role: string; content: string | Part[] | null }[];
}

interface Part {
  text?: string;
  image_url?: { url: string };
}

type Said = Pick<ChatReply, "text" | "toolCalls" | "finishReason">;

const usage = { prompt: 1000, completion: 10 };

/**
 * The scripted model of a bench. A message "plain {run}" gets the text "done"; "tool {run}" a call of the tool
 * `laptop__Glob` and, after its result, a text; "image {run}" the sum of the base64 characters of the images.
 * @returns the run, and the frames of the streamed answer
 */
export function scriptedReply({ model, messages, stream_options }: ModelBody): {
  run: string;
  frames: string[];
} {
  const parts = partsOf(messages.findLast(({ role }) => role === "user")?.content);
  // The first block is the message; the gateway appends others.
  const [kind = "", run = ""] = (parts.find(({ text }) => text !== undefined)?.text ?? "").split(" ");
  const hasResult = messages.at(-1)?.role === "tool";
  const reply = {
    ...{ id: `chatcmpl-${randomUUID()}`, model, created: Math.floor(Date.now() / 1000), usage },
    ...(kind === "tool" && !hasResult ? callOf(run) : say(kind === "image" ? sizeOf(parts) : "done")),
  };
  return { run, frames: [...chatChunks(reply, stream_options?.include_usage === true)].map(encodeFrame) };
}

function partsOf(content: ModelBody["messages"][number]["content"] | undefined): Part[] {
  return typeof content === "string" ? [{ text: content }] : (content ?? []);
}

function say(text: string): Said {
  return { text: [text], toolCalls: [], finishReason: "stop" };
}

function sizeOf(parts: readonly Part[]): string {
  return String(parts.reduce((sum, { image_url }) => sum + (image_url?.url.split(",")[1]?.length ?? 0), 0));
}

function callOf(run: string): Said {
  const call = { id: `call_${run}`, name: "laptop__Glob", arguments: [JSON.stringify({ run })] };
  return { text: [], toolCalls: [call], finishReason: "tool_calls" };
}
