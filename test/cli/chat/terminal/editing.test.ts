import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { imageBytes } from "../../../support/images.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { startGsvAtTerminal } from "../../../support/terminal/pseudo-terminal.ts";
import { chatAtTerminal, stoppable } from "./chat-at-terminal.ts";

const keys = {
  enter: "\r",
  altEnter: "\u001b\r",
  escape: "\u001b",
  up: "\u001b[A",
  home: "\u001b[H",
  ctrlC: "\u0003",
  ctrlR: "\u0012",
  editor: "\u0018\u0005",
};

describe("editing a message at a terminal", () => {
  it("inserts a line break for Alt-Enter, Ctrl-J and a backslash before Enter, and edits all lines", async () => {
    const { terminal, sent, runId } = await chatAtTerminal();
    terminal.type(`one${keys.altEnter}two\nthree \\\rfour`);
    await terminal.sees("> one\n  two\n  three\n  four");
    terminal.type(`${keys.up}${keys.up}${keys.home}2nd `);
    await terminal.sees("  2nd two");
    terminal.type(keys.enter);
    await runId(1);
    expect(sent()[0]?.message).toBe("one\n2nd two\nthree \nfour");
  });

  it("sends input typed before the chat opened the keyboard, and keeps an unfinished rest", async () => {
    const { terminal, sent, runId } = await chatAtTerminal({
      start: (args, options) => {
        const early = startGsvAtTerminal(args, options);
        early.type("typed early\rand half a mess");
        return early;
      },
      isReady: (text) => text.includes("> and half a mess"),
    });
    await runId(1);
    terminal.type("age\r");
    await runId(2);
    expect(sent().map(({ message }) => message)).toEqual(["typed early", "and half a message"]);
  });

  it("places the cursor correctly after wide characters and emoji", async () => {
    const { terminal, runId, sent } = await chatAtTerminal({ columns: 40 });
    terminal.type("日本語 🙂 größe");
    await terminal.sees("> 日本語 🙂 größe");
    await terminal.until(() => terminal.cursor().column === 2 + 6 + 1 + 2 + 1 + 5, "the cursor behind it");
    const left = "\u001b[D";
    terminal.type(`${left}\u007f${left}${left}${left}${left}\u007f`);
    await terminal.sees("> 日本語  gröe");
    terminal.type(keys.enter);
    await runId(1);
    expect(sent()[0]?.message).toBe("日本語  gröe");
  });

  it("completes a /command with Tab, and lists the matches when there are several", async () => {
    const { terminal, sent } = await chatAtTerminal();
    terminal.type("/comp\t");
    await terminal.sees("> /compact");
    await terminal.until(() => terminal.cursor().column === "> /compact ".length, "the cursor behind it");
    terminal.type(keys.ctrlC);
    terminal.type("/st\t");
    await terminal.sees(/\/stop +stop the answer.*\n.*\/status +show this session/);
    terminal.type("\u001b[B\r");
    await terminal.until((text) => text.endsWith("> /status"), "the second command alone");
    expect(sent()).toEqual([]);
  });

  it("completes an @file with Tab: attaches an image, and inserts another file's full path", async () => {
    const folder = newFolder();
    mkdirSync(join(folder, "my photos"));
    writeFileSync(join(folder, "my photos", "cat.png"), imageBytes());
    writeFileSync(join(folder, "notes.md"), "# notes");
    const { terminal, sent, runId } = await chatAtTerminal({ cwd: folder });
    terminal.type("look at @my\t");
    await terminal.sees('> look at @"my photos/');
    terminal.type("\t");
    await terminal.sees('> look at @"my photos/cat.png"');
    terminal.type("and @no\t");
    await terminal.sees('cat.png" and @notes.md');
    terminal.type(`please, @nobody${keys.enter}`);
    await runId(1);
    await terminal.sees("(attached: cat.png)");
    expect(sent()[0]).toMatchObject({
      message: `look at @"my photos/cat.png" and ${folder}/notes.md please, @nobody`,
      media: [{ type: "image", filename: "cat.png", mimeType: "image/png" }],
    });
  });

  it("searches the history with Ctrl-R, further with each Ctrl-R, and sends or edits the found entry", async () => {
    const folder = newFolder();
    const file = join(folder, ".config/gsv/history");
    mkdirSync(join(folder, ".config/gsv"), { recursive: true });
    writeFileSync(file, "list the Bins\nwhat is the weather\nempty the bins\nhello\n");
    const { terminal, sent, runId } = await chatAtTerminal({ cwd: folder });
    terminal.type(`half${keys.ctrlR}bins`);
    await terminal.sees("> empty the bins\nsearch the history: bins");
    terminal.type(keys.ctrlR);
    await terminal.sees("> list the Bins\nsearch the history: bins");
    terminal.type(keys.ctrlR);
    await terminal.sees("> list the Bins\nnot found in the history: bins");
    terminal.type("\u0007");
    await terminal.until((text) => text.endsWith("> half"), "what was typed before");
    terminal.type(`${keys.ctrlR}weather`);
    await terminal.sees("> what is the weather");
    terminal.type(`${keys.escape}`);
    await terminal.until((text) => text.endsWith("> what is the weather"), "no search any more");
    terminal.type("?\r");
    await runId(1);
    expect(sent()[0]?.message).toBe("what is the weather?");
  });

  it("opens the message in $VISUAL with Ctrl-X Ctrl-E, and continues with the saved text", async () => {
    const folder = newFolder();
    const editor = join(folder, "editor");
    writeFileSync(
      editor,
      '#!/bin/sh\necho "editing $(cat "$1")"; read line; printf "%s\\nby hand\\n" "$line" > "$1"\n',
    );
    chmodSync(editor, 0o755);
    const { terminal, gateway, sent, runId } = await chatAtTerminal({
      cwd: folder,
      env: { VISUAL: editor },
      start: startGsvAtTerminal,
    });
    terminal.type(`a draft${keys.editor}`);
    await terminal.sees("editing a draft");
    gateway.emit("node.changed", { nodeId: "pi", connected: true, tools: ["pi__Bash"] });
    terminal.type("written\r");
    await terminal.sees("(pi is connected: 1 tool)\n> written\n  by hand");
    terminal.type(keys.enter);
    await runId(1);
    expect(sent()[0]?.message).toBe("written\nby hand");
  });

  it("says why an editor fails, and keeps the input", async () => {
    const { terminal } = await chatAtTerminal({ env: { EDITOR: "false" }, start: startGsvAtTerminal });
    terminal.type(`a draft${keys.editor}`);
    await terminal.sees(/\(false exited with 1; nothing was saved\)\n> a draft/);
  });

  it("stops the run at Esc, but not at an Esc that closes a list", async () => {
    const { terminal, sent, runId } = await chatAtTerminal({ methods: { "chat.send": stoppable } });
    terminal.type("work hard\r");
    await runId(1);
    terminal.type("/s\t");
    await terminal.sees("→ /stop");
    terminal.type(keys.escape);
    await terminal.until((text) => !text.includes("→ /stop"), "no list");
    expect(sent().map(({ message }) => message)).toEqual(["work hard"]);
    terminal.type(keys.escape);
    await terminal.sees("(stopping)\n(stopped)");
    expect(sent().map(({ message }) => message)).toEqual(["work hard", "/stop"]);
  });

  it("keeps pasted text as one entry of the history, also for the next chat", async () => {
    const first = await chatAtTerminal();
    const { terminal, folder, sent } = first;
    terminal.type("before\r");
    first.final(await first.runId(1), "ok");
    terminal.paste("one\ntwo\n\nthree");
    await terminal.sees("> one\n  two\n\n  three");
    terminal.type(keys.enter);
    first.final(await first.runId(2), "fine");
    await terminal.sees("fine");
    expect(sent()[1]?.message).toBe("one\ntwo\n\nthree");
    terminal.type(`${keys.up}${keys.up}`);
    await terminal.until((text) => text.endsWith("> before"), "the entry before the pasted one");
    terminal.type("\u0003\u0004");
    expect(await terminal.ended).toBe(0);
    expect(readFileSync(join(folder, ".config/gsv/history"), "utf8").trimEnd().split("\n")).toHaveLength(2);

    const next = await chatAtTerminal({ cwd: folder });
    next.terminal.type(keys.up);
    await next.terminal.sees("> one\n  two\n\n  three");
  });

  it("abbreviates a long pasted text, sends it in full, and removes its control sequences", async () => {
    const { terminal, sent, runId } = await chatAtTerminal();
    const lines = Array.from({ length: 30 }, (_, line) => `line ${line}`);
    terminal.paste(`${lines.join("\n")}\u001b[2J\u009b2J`);
    await terminal.sees("> [paste #1 +30 lines]");
    terminal.type(keys.enter);
    await runId(1);
    expect(sent()[0]?.message).toBe(lines.join("\n"));
    expect(terminal.text()).toContain("/help lists commands");
  });
});
