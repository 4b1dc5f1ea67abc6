import type { AssistantMessageEvent, AssistantMessage as PiReply } from "@earendil-works/pi-ai";
import { MarkupReader } from "./markup-reader.ts";

/** Follows an answer that contained a tool call as text: its reader and the model see that nothing happened. */
const lostCallNote = "[This answer contained a tool call as text, which was not executed.]";

/** The error of a reply that is only a tool call as text. */
export const lostCallText =
  "the model wrote a tool call as text, which is not executed; enable tool calls for the model on its server (in vLLM: --enable-auto-tool-choice and --tool-call-parser), or choose another model";

/** A reply without markup. `hasLostCall`: it had a tool call as text, and has neither text nor another call. */
export interface UnmarkedReply {
  message: PiReply;
  hasLostCall: boolean;
}

interface ReplyStream extends AsyncIterable<AssistantMessageEvent> {
  result(): Promise<PiReply>;
}

/**
 * Reads a reply without the markup of models that their server left in the text: thinking becomes a thinking block, and tool
 * calls are removed and never executed.
 */
export async function readUnmarked(
  stream: ReplyStream,
  onText: (text: string) => void,
): Promise<UnmarkedReply> {
  const reader = new MarkupReader();
  const show = (text: string) => {
    if (text !== "") onText(text);
  };
  for await (const event of stream) if (event.type === "text_delta") show(reader.add(event.delta));
  const message = await stream.result();
  const { shown, text, thinking, hasCall } = reader.end();
  show(shown);
  const isLost = hasCall && !message.content.some((block) => block.type === "toolCall");
  const said = isLost && text !== "" ? `${text}\n\n${lostCallNote}` : text;
  // In chat completions, a reply has at most one text block.
  const content = message.content.flatMap((block): PiReply["content"] => {
    if (block.type !== "text") return [block];
    const thought = thinking === "" ? [] : [{ type: "thinking" as const, thinking }];
    return said === "" ? thought : [...thought, { ...block, text: said }];
  });
  return { message: { ...message, content }, hasLostCall: isLost && text === "" };
}
