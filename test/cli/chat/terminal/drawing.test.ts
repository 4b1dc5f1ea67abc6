import { describe, expect, it } from "vitest";
import { startGsvAtTerminal } from "../../../support/terminal/pseudo-terminal.ts";
import { assistant } from "../../fake-gateway.ts";
import { chatAtTerminal } from "./chat-at-terminal.ts";

/** The rows below the one with `text`. */
function below(rows: string[], text: string): string[] {
  return rows.slice(rows.indexOf(text) + 1);
}

const markdown = [
  "# Bins",
  "",
  "Put **two** bins out, see `bins.md` and [the map](https://example.org/map).",
  "",
  "- paper",
  "- glass",
  "",
  "| day | bin |",
  "|---|---|",
  "| Mon | paper |",
  "",
  "```sh",
  "ls -la",
  "```",
].join("\n");

describe("what a chat draws at a terminal", () => {
  it("shows Markdown with styles, the same when it is streamed and when it is complete", async () => {
    const chat = await chatAtTerminal({ columns: 80, rows: 40 });
    const { terminal } = chat;
    const shown = [
      "Bins",
      "",
      "Put two bins out, see bins.md and the map (https://example.org/map).",
      "",
      "- paper",
      "- glass",
      "",
      "┌─────┬───────┐",
      "│ day │ bin   │",
      "├─────┼───────┤",
      "│ Mon │ paper │",
      "└─────┴───────┘",
      "",
      "```sh",
      "  ls -la",
      "```",
      "",
      ">",
    ];
    terminal.type("one\r");
    const first = await chat.runId(1);
    const parts = markdown.match(/[\s\S]{1,3}/g) ?? [];
    for (const [seq, part] of parts.entries()) chat.delta(first, part, seq);
    await terminal.sees("ls -la");
    chat.final(first, markdown);
    await terminal.sees("```\n\n>");
    expect(below(terminal.rows(), "> one")).toEqual(shown);
    terminal.type("\u000ctwo\r");
    chat.final(await chat.runId(2), markdown);
    await terminal.sees(/> two[\s\S]*```\n\n>/);
    expect(below(terminal.rows(), "> two")).toEqual(shown);
    expect(terminal.written()).toContain("\u001b[1mtwo\u001b[22m");
  });

  it.each([
    ["--plain", { args: ["--plain"] }],
    ["NO_COLOR", { env: { NO_COLOR: "1" } }],
  ])("shows Markdown as it is with %s", async (_name, setup) => {
    const chat = await chatAtTerminal({ ...setup, rows: 40 });
    chat.terminal.type("hello\r");
    chat.final(await chat.runId(1), markdown);
    await chat.terminal.sees("```sh\nls -la\n```\n\n>");
    expect(below(chat.terminal.rows(), "> hello").slice(0, 14)).toEqual(markdown.split("\n"));
  });

  it("shows the last exchange when a chat is opened again, and that a run is active", async () => {
    const messages = [
      { role: "user", content: "an older one", timestamp: 1 },
      assistant("an older answer"),
      { role: "user", content: "which bins?\nplease", timestamp: 1_750_000_000_000 },
      assistant("", [{ id: "c1", name: "pi__Bash", arguments: {} }]),
      {
        role: "toolResult",
        toolCallId: "c1",
        toolName: "pi__Bash",
        content: [],
        isError: false,
        timestamp: 3,
      },
      assistant("The **paper** bins."),
    ];
    const { terminal } = await chatAtTerminal({ methods: { "session.preview": () => ({ messages }) } });
    await terminal.sees(
      /\n\(the last exchange, 2025-06-15 .*\)\n> which bins\? please\nThe paper bins\.\n\(a run is active in this session\)\n\n>$/,
    );
    expect(terminal.text()).not.toContain("older");
  });

  it("mentions a background command in the last exchange, without its JSON", async () => {
    const content = 'System event: async_exec_completion\n{"nodeId":"pi","event":"finished"}';
    const messages = [{ role: "user", content, timestamp: 1 }, assistant("The tests pass.")];
    const { terminal } = await chatAtTerminal({ methods: { "session.preview": () => ({ messages }) } });
    await terminal.sees("The tests pass.");
    expect(terminal.text()).toContain("> (a background command has ended)\nThe tests pass.");
  });

  it("shows the first lines of a long last answer, and the number of the others", async () => {
    const lines = Array.from({ length: 45 }, (_, line) => `- ${line}`);
    const messages = [{ role: "user", content: "count", timestamp: 1 }, assistant(lines.join("\n"))];
    const { terminal } = await chatAtTerminal({ methods: { "session.preview": () => ({ messages }) } });
    await terminal.sees(/- 28\n- 29\n\(15 more lines: gsv session preview\)/);
  });

  it("keeps the text whole when the terminal is resized and text is pasted while it streams", async () => {
    const chat = await chatAtTerminal({ columns: 80, rows: 30, start: startGsvAtTerminal });
    const { terminal } = chat;
    terminal.type("tell me\r");
    const runId = await chat.runId(1);
    const words = Array.from({ length: 120 }, (_, word) =>
      word % 10 === 0 ? `日本${word}🙂` : `word${word}`,
    );
    const sizes = new Map([
      [20, 40],
      [40, 33],
      [60, 100],
      [80, 40],
    ]);
    for (const [seq, word] of words.entries()) {
      chat.delta(runId, `${seq % 30 === 29 ? "\n\n" : seq === 0 ? "" : " "}${word}`, seq);
      const size = sizes.get(seq);
      if (size === undefined && seq !== 50) continue;
      await terminal.sees(word);
      if (size !== undefined) {
        const before = terminal.written().length;
        terminal.resize(size);
        await terminal.until(() => terminal.written().length > before, "it is drawn for the new size");
      } else {
        terminal.paste("a pasted text of several words 🙂\nand a second line");
        await terminal.sees("and a second line");
      }
    }
    await terminal.sees("word119");
    const text = terminal.text();
    const reply = text.slice(text.indexOf("> tell me") + 9, text.lastIndexOf("> a pasted"));
    expect(reply.replace(/\n… \d*.*$/m, "").match(/\S*?\d+(?:🙂)?(?=\s)/g)).toEqual(words);
    expect(text.match(/> tell me/g)).toHaveLength(1);
    expect(text).toMatch(/> a pasted text of several words\n? *🙂\n {2}and a second line$/);
    await terminal.until(
      () => terminal.cursor().column === "  and a second line".length,
      "the cursor behind it",
    );
  });

  it("leaves no traces of the input while the terminal becomes narrower", async () => {
    const chat = await chatAtTerminal({ columns: 80, rows: 30, start: startGsvAtTerminal });
    const { terminal } = chat;
    terminal.type("go\r");
    chat.delta(await chat.runId(1), "the only row of a reply", 0);
    await terminal.sees("the only row");
    const typed = "more words than a narrow terminal has columns for";
    terminal.resize(30);
    terminal.type(typed);
    await terminal.sees(/> more words than a narrow\n {2}terminal has columns for$/);
    expect(terminal.text().match(/the only row/g)).toHaveLength(1);
    expect(terminal.text().match(/> more/g)).toHaveLength(1);
  });

  it("draws a reply that is longer than the terminal once and completely", async () => {
    const chat = await chatAtTerminal({ columns: 40, rows: 8 });
    const { terminal } = chat;
    terminal.type("go\r");
    const runId = await chat.runId(1);
    const items = Array.from({ length: 40 }, (_, item) => `- item ${item}`);
    for (const [seq, item] of items.entries()) chat.delta(runId, `${item}\n`, seq);
    await terminal.sees("- item 39");
    chat.final(runId, items.join("\n"));
    await terminal.sees("- item 39\n\n>");
    expect(below(terminal.rows(), "> go")).toEqual([...items, "", ">"]);
  });
});
