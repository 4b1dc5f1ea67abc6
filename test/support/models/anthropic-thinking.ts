import { createHash } from "node:crypto";

/** The fields of a request that concern extended thinking. */
interface ThinkingRequest {
  max_tokens: number;
  temperature?: number;
  thinking?: { type: string; budget_tokens?: number };
  messages: {
    role: string;
    content: string | { type: string; thinking?: string; signature?: string }[];
  }[];
}

/** The signature of a thinking block. The service accepts only blocks that it wrote itself. */
export function signThinking(text: string): string {
  return createHash("sha256").update(`thinking:${text}`).digest("base64");
}

/** The service's error message for an invalid use of extended thinking (guide "Extended thinking"). */
export function thinkingFault(request: ThinkingRequest): string | undefined {
  const { thinking } = request;
  if (thinking?.type === "enabled") {
    const budget = thinking.budget_tokens;
    if (budget === undefined) return "thinking.enabled.budget_tokens: Field required";
    if (budget < 1024) return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024";
    if (budget >= request.max_tokens)
      return "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size";
    if (request.temperature !== undefined && request.temperature !== 1)
      return "`temperature` may only be set to 1 when thinking is enabled.";
  }
  return signatureFault(request) ?? (thinking?.type === "enabled" ? openingFault(request) : undefined);
}

function signatureFault(request: ThinkingRequest): string | undefined {
  for (const [i, message] of request.messages.entries()) {
    if (typeof message.content === "string") continue;
    const at = message.content.findIndex(
      (block) => block.type === "thinking" && block.signature !== signThinking(block.thinking ?? ""),
    );
    if (at >= 0) return `messages.${i}.content.${at}: Invalid \`signature\` in \`thinking\` block`;
  }
  return undefined;
}

/** With thinking on, an assistant message whose tool calls get results must start with its thinking. */
function openingFault(request: ThinkingRequest): string | undefined {
  const i = request.messages.findLastIndex((message) => message.role === "assistant");
  const content = request.messages[i]?.content;
  if (content === undefined || typeof content === "string") return undefined;
  const first = content[0]?.type;
  if (first === "thinking" || first === "redacted_thinking") return undefined;
  if (!content.some((block) => block.type === "tool_use")) return undefined;
  return `messages.${i}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`;
}
