import { expect, it } from "vitest";
import { MarkupReader } from "../../../functions/agent/model/markup/markup-reader.ts";
import { seededRandom } from "../../support/random.ts";

/** Reads an answer in pieces that end at the given places. */
function read(answer: string, cuts: readonly number[] = []) {
  const reader = new MarkupReader();
  const ends = [...cuts].sort((a, b) => a - b);
  let shown = "";
  for (const [i, end] of [...ends, answer.length].entries())
    shown += reader.add(answer.slice(ends[i - 1] ?? 0, end));
  const { shown: last, ...whole } = reader.end();
  return { ...whole, shown: shown + last };
}

const call = '{"name": "get_weather", "arguments": {"city": "Rome"}}';

it.each([
  ["a thinking", "<think>\nRome?\n</think>\n\nIt rains.", "It rains.", "Rome?"],
  ["white space before it", " \n<think>a</think>b", "b", "a"],
  ["two thinkings", "<think>a</think>\n<think>b</think>\nc", "c", "a\n\nb"],
  ["an empty thinking", "<think>\n\n</think>\n\nc", "c", ""],
  ["an unclosed thinking", "<think>and then", "", "and then"],
  ["a thinking whose start is in the prompt", "Rome?\n</think>\n\nIt rains.", "It rains.", "Rome?"],
  ["only the end of a thinking", "</think>\nIt rains.", "It rains.", ""],
  ["only a thinking, whose start is in the prompt", "Rome?\n</think>", "", "Rome?"],
  ["Magistral's tags", "[THINK]a[/THINK]b", "b", "a"],
  ["Kimi's tags", "◁think▷a◁/think▷b", "b", "a"],
  ["Gemma's tags", "<|channel>thought\na<channel|>b", "b", "a"],
  ["a tag in a thinking", "<think>what is <b>?</think>b", "b", "what is <b>?"],
])("separates %s from the answer", (_what, answer, text, thinking) => {
  expect(read(answer)).toMatchObject({ text, thinking, hasCall: false });
});

it.each([
  ["Hermes and Qwen", `<tool_call>\n${call}\n</tool_call>`],
  [
    "Qwen Coder",
    "<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>",
  ],
  ["GLM", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n</tool_call>"],
  ["Llama 3.1", '<function=get_weather>{"city": "Rome"}</function>'],
  ["Llama 3", `<|python_tag|>${call}`],
  ["Llama 3's own tools", '<|python_tag|>brave_search.call(query="weather")'],
  ["Mistral", `[TOOL_CALLS] [${call}]`],
  ["newer Mistral", '[TOOL_CALLS]get_weather[ARGS]{"city": "Rome"}'],
  [
    "DeepSeek",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
  ],
  [
    "Kimi",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
  ],
  ["Gemma", '<|tool_call>call:get_weather{city:<|"|>Rome<|"|>}<tool_call|>'],
  ["MiniMax", '<minimax:tool_call>\n<invoke name="get_weather">\n</invoke>\n</minimax:tool_call>'],
  ["Granite", `<|tool_call|>[${call}]`],
  ["a model that stopped in the middle", `<tool_call>\n${call}`],
])("removes a call of %s, alone and behind a text", (_whose, said) => {
  expect(read(said)).toEqual({ text: "", thinking: "", hasCall: true, shown: "" });
  expect(read(`<think>a</think>I look.\n${said}`)).toMatchObject({
    text: "I look.",
    thinking: "a",
    hasCall: true,
  });
});

it("keeps the text between and behind calls", () => {
  const said = `<tool_call>${call}</tool_call>`;
  expect(read(`One.\n${said}\nTwo.\n${said}\nThree.`).text).toBe("One.\n\nTwo.\n\nThree.");
});

it.each([
  ["a tag in the middle", "R1 writes <think>a</think> first."],
  ["a tag in code", "`<think>` begins it:\n\n```\n<think>\na\n</think>\n```\n"],
  ["a call in a fence", `So:\n\n\`\`\`xml\n<tool_call>${call}</tool_call>\n\`\`\`\n`],
  ["a call in a longer fence", `\`\`\`\`\n\`\`\`\n<tool_call>${call}\n\`\`\`\n\`\`\`\``],
  ["a call in a list's fence", `1. ~~~\n   <tool_call>${call}</tool_call>\n   ~~~\n`],
  ["a call in code", `Write \`<tool_call>${call}</tool_call>\` there.`],
  ["a call in a quote", `> <tool_call>${call}</tool_call>\n\nThat is a call.`],
  ["the name of a tag", "The <tool_call> tag, [TOOL_CALLS] and <function=x> are tokens; <|python_tag|> too."],
  ["a late end in a line", "It ends with </think> there."],
  ["a late end in a fence", "```\na\n</think>\n```"],
  ["white space", "  \n a  \n"],
  ["the beginning of a tag", "a <tool_ca"],
  ["HTML", "<p>a <b>c</b> [d](e)</p>\n<thin>"],
])("shows %s as text", (_what, answer) => {
  expect(read(answer)).toEqual({ text: answer, thinking: "", hasCall: false, shown: answer });
});

const pieces = [
  ...["<think>", "</think>", "[THINK]", "[/THINK]", "◁think▷", "◁/think▷", "<tool_call>", "</tool_call>"],
  ...[
    "<function=",
    "name>",
    "</function>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<",
    "[",
    "{",
    "|",
    "/",
    "think",
    "_",
  ],
  ...[
    "`",
    "``",
    "```",
    "~~~",
    ">",
    "\n",
    " ",
    "- ",
    "1. ",
    "word",
    "name",
    "{}",
    "<arg_key>",
    "é",
    "😀",
    "\n\n",
  ],
];

it("gives the same result however an answer is cut", () => {
  const random = seededRandom(33);
  const seen = { thinking: 0, call: 0 };
  for (let round = 0; round < 20_000; round++) {
    const answer = random.text(["<think>", "", "\n"], 1) + random.text(pieces, 25);
    const whole = read(answer);
    seen.thinking += Number(whole.thinking !== "");
    seen.call += Number(whole.hasCall);
    const cuts = Array.from({ length: random.integer(12) }, () => random.integer(answer.length + 1));
    const everywhere = Array.from(answer, (_, i) => i);
    for (const at of [cuts, everywhere])
      expect(read(answer, at), JSON.stringify({ answer, at })).toEqual(whole);
    expect(whole.shown.trimEnd().endsWith(whole.text.trimEnd()), answer).toBe(true);
  }
  expect(seen.thinking).toBeGreaterThan(2000);
  expect(seen.call).toBeGreaterThan(500);
});

it("shows text at once unless it may become markup", () => {
  const reader = new MarkupReader();
  expect(reader.add("It ")).toBe("It ");
  expect(reader.add("rains <too")).toBe("rains ");
  expect(reader.add("lbox> here")).toBe("<toolbox> here");
});

it("reads an answer of many pieces", () => {
  const reader = new MarkupReader();
  for (let i = 0; i < 200_000; i++) reader.add("a<b ");
  expect(reader.end().text).toHaveLength(800_000);
});
