/** An opening and a closing tag. */
type Tags = readonly [open: string, close: string];

/** What encloses the thinking of models, where their server does not separate it from the answer. */
export const thinkingTags: readonly Tags[] = [
  ["<think>", "</think>"],
  ["<thinking>", "</thinking>"],
  ["<thought>", "</thought>"],
  ["<reasoning>", "</reasoning>"],
  ["[THINK]", "[/THINK]"],
  ["◁think▷", "◁/think▷"],
  ["<|channel>thought\n", "<channel|>"],
];

/** Closes a thinking whose opening tag belongs to the prompt, as in the templates of Qwen and DeepSeek. */
export const lateClose = "</think>";

/** What encloses the tool calls of models, where their server does not parse them. Without a closing tag they go on to the end. */
export const callTags: readonly (Tags | readonly [open: string])[] = [
  ["<tool_call>", "</tool_call>"],
  ["<tool_calls>", "</tool_calls>"],
  ["<function_call>", "</function_call>"],
  ["<function=", "</function>"],
  ["<minimax:tool_call>", "</minimax:tool_call>"],
  ["<|tool_call>", "<tool_call|>"],
  ["<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"],
  ["<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"],
  ["[TOOL_CALLS]"],
  ["<|python_tag|>"],
  ["<|tool_call|>"],
];

/** How a call begins behind its tag: with JSON, with another tag, or with the tool's name. In prose, a word follows the tag. */
const callStart = /^\s*(?:[[{]|<(?:function=|invoke |[|｜])|[\w.:-]+(?:[[{(]|>\s*[{<]|\n<arg_key>))/;

/** The start of `callStart`. */
const undecidedStart = /^\s*(?:<[a-z]*|[\w.:-]*(?:>\s*|\n(?:<[a-z_]*)?)?)$/;

/** Whether a text is a call's start behind its tag; undefined if that depends on the text that follows. */
export function beginsCall(text: string): boolean | undefined {
  if (callStart.test(text)) return true;
  return undecidedStart.test(text) ? undefined : false;
}

/** The index of the first tag that the text begins with; "maybe" if it may become one. */
export function tagAt(text: string, opens: readonly string[]): number | "maybe" | undefined {
  const found = opens.findIndex((open) => text.startsWith(open));
  if (found >= 0) return found;
  return opens.some((open) => open.startsWith(text)) ? "maybe" : undefined;
}
