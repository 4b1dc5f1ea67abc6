import type { Message } from "../protocol/messages.ts";
import type { SystemPromptFields, SystemPromptObject } from "../protocol/objects.ts";
import { chatId } from "./chat.ts";
import { withHashes } from "./hash.ts";

/** A reply, and the version of the prompt that it was made from. */
export interface PromptUse {
  hash: string;
  version_no: number;
  /** Number and time of the reply. */
  n: number;
  at: number;
}

export const promptId = (agentId: string, sessionId: string) => `system_prompt:${agentId}:${sessionId}`;

/** Which prompt each reply was made from. The same text is the same version, numbered in the order of first use. */
export function promptUses(messages: readonly Message[]): PromptUse[] {
  const versions = new Map<string, number>();
  return messages.flatMap((message, i) => {
    const hash = message.role === "assistant" ? message.context?.prompt : undefined;
    if (hash === undefined) return [];
    const version_no = versions.get(hash) ?? versions.size + 1;
    versions.set(hash, version_no);
    return [{ hash, version_no, n: i + 1, at: message.timestamp }];
  });
}

/** A version of a conversation's system prompt. @param text null where it was not stored */
export function promptObject(
  { agentId, sessionId }: { agentId: string; sessionId: string },
  { version_no, at }: Pick<PromptUse, "version_no" | "at">,
  text: string | null,
): SystemPromptObject {
  const fields: SystemPromptFields = {
    id: promptId(agentId, sessionId),
    type: "system_prompt",
    content: text,
    locked: true,
    provenance: { origin: "gsv", generator: "system" },
    version_no,
    at,
    agent_id: agentId,
    chat_ref: chatId(sessionId),
  };
  return withHashes(fields);
}
