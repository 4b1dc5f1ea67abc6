import type {
  AssistantMessage,
  Message,
  ToolCallBlock,
  ToolResultMessage,
} from "../../shared/protocol/messages.ts";
import type { Random } from "./random.ts";

const words = ["plan", " ", "ü", "漢字", "🐙", '"', "\n", "|", "--- user", "{}", "\\", "</object>"];
const tools = ["gsv__ReadFile", "laptop__Bash", "laptop__Read", "gsv__WriteFile", "Invented"];

/**
 * A conversation as sessions have or may have stored it: consecutive user messages, replies without text, calls without
 * results, results in another order, and ids reused in a later reply. At most `max` steps.
 */
export function randomTranscript(random: Random, most = 12): Message[] {
  const messages: Message[] = [];
  let timestamp = 1_767_225_600_000;
  const tick = () => (timestamp += random.integer(3) * 1000);
  const steps = 1 + random.integer(most);
  for (let step = 0; step < steps; step++) {
    if (random.integer(3) > 0) messages.push(userMessage(random, tick()));
    if (random.integer(6) === 0) continue;
    const reply = replyMessage(random, tick());
    messages.push(reply);
    const results = reply.content.flatMap((block) =>
      block.type === "toolCall" && random.integer(12) > 0 ? [resultOf(random, block, tick())] : [],
    );
    messages.push(...(random.integer(4) === 0 ? results.reverse() : results));
    if (random.integer(40) === 0) messages.push(...results.slice(0, 1));
  }
  return messages;
}

function userMessage(random: Random, timestamp: number): Message {
  const text = random.text(words, 6);
  const image = { type: "image", mimeType: "image/png", r2Key: "media/x.png", size: 4 } as const;
  const content = random.integer(5) === 0 ? [{ type: "text" as const, text }, image] : text;
  const origin = random.integer(2) === 0 ? { origin: { channel: "telegram", messageId: "77" } } : {};
  return { role: "user", content, ...origin, timestamp };
}

function replyMessage(random: Random, timestamp: number): AssistantMessage {
  const content: AssistantMessage["content"] = [];
  if (random.integer(3) === 0)
    content.push({ type: "thinking", thinking: random.text(words, 3), thinkingSignature: "c2ln" });
  if (random.integer(4) > 0) content.push({ type: "text", text: random.text(words, 6) });
  for (let calls = random.integer(4); calls > 0; calls--) content.push(callBlock(random, calls));
  const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 10 };
  return {
    role: "assistant",
    content,
    ...(random.integer(4) > 0 ? { api: "openai-completions", provider: "openai", model: "m", usage } : {}),
    ...(random.integer(8) === 0 ? { stopReason: "error", errorMessage: random.text(words, 2) } : {}),
    timestamp,
  };
}

function callBlock(random: Random, place: number): ToolCallBlock {
  const id = random.integer(5) === 0 ? `call_${place}` : `toolu_${random.integer(2 ** 31)}`;
  const args = { path: random.text(words, 4), deep: [{ n: random.integer(9) / 4 }], none: null };
  return {
    type: "toolCall",
    id,
    ...(random.integer(4) === 0 ? { providerId: "call_0" } : {}),
    name: random.pick(tools),
    arguments: random.integer(10) === 0 ? random.text(words, 2) : args,
  };
}

function resultOf(random: Random, { id, name }: ToolCallBlock, timestamp: number): ToolResultMessage {
  const text = { type: "text" as const, text: random.text(words, 5) };
  const image = { type: "image" as const, mimeType: "image/png", r2Key: "media/y.png", size: 9 };
  const content = random.pick([[text], [text], [text], [text, text], [text, image], [image], []]);
  return {
    role: "toolResult",
    toolCallId: id,
    toolName: name,
    content,
    isError: random.integer(4) === 0,
    timestamp,
  };
}
