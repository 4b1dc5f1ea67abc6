import type { Message } from "../../../shared/protocol/messages.ts";

/** Tools whose results are words of the web. */
const ofWeb = ["gsv__WebFetch", "gsv__WebSearch"];

/**
 * Whether a person or a page of the conversation named an address as it is. Then opening it carries no other words out. The
 * model's own words and other results do not count: they may contain what a page wants to know.
 */
export function isQuoted(messages: readonly Message[], address: unknown): boolean {
  if (typeof address !== "string" || address.length < "https://x.y".length) return false;
  return messages.some((message) => {
    const isTheirs =
      message.role === "user" || (message.role === "toolResult" && ofWeb.includes(message.toolName));
    return isTheirs && textsOf(message.content).some((text) => text.includes(address));
  });
}

function textsOf(content: Message["content"]): string[] {
  if (typeof content === "string") return [content];
  return content.flatMap((block) => (block.type === "text" ? [block.text] : []));
}
