import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { completedCommands, unknownCommand } from "../../../../cli/chat/terminal/chat-commands.ts";
import { parseCommand } from "../../../../shared/session/commands/parse-command.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { chatAtTerminal, started } from "./chat-at-terminal.ts";

describe("slash commands in a chat at a terminal", () => {
  it("are refused with a suggestion when unknown, and sent as text with a blank before them", async () => {
    const chat = await chatAtTerminal();
    const { terminal } = chat;
    terminal.type("/hlep\r");
    await terminal.sees(/unknown command \/hlep \(did you mean \/help\?\)/);
    terminal.type("/frobnicate now\r");
    await terminal.sees(/unknown command \/frobnicate; \/help lists the commands/);
    terminal.type(" /frobnicate now\r");
    await chat.runId(1);
    terminal.type("/etc/hosts is what?\r");
    await chat.runId(2);
    expect(chat.sent().map(({ message }) => message)).toEqual(["/frobnicate now", "/etc/hosts is what?"]);
  });

  it("are listed by /help, both the gateway's and the chat's, with the keys", async () => {
    const response = "Commands:\n/status – show this session";
    const { terminal } = await chatAtTerminal({
      rows: 50,
      methods: {
        "chat.send": (request) =>
          request.params.message === "/help"
            ? { status: "command", command: "help", response }
            : started(request),
      },
    });
    terminal.type("/help\r");
    await terminal.sees(/\/status – show this session\nIn this chat:[\s\S]*\/quit, \/exit – leave the chat/);
    for (const key of [
      "Tab",
      "@file",
      "Alt-Enter",
      "Ctrl-R",
      "Ctrl-X Ctrl-E",
      "Esc",
      "Ctrl-C",
      "Ctrl-D",
      "Ctrl-Z",
    ])
      await terminal.sees(`\n${key}`);
  });

  it("open the page signed in, and show the link where there is no browser", async () => {
    const folder = newFolder();
    const browser = join(folder, "browser.sh");
    writeFileSync(browser, `#!/bin/sh\necho "$1" >> ${join(folder, "opened")}\n`, { mode: 0o700 });
    const page = "https://gsv.example";
    const methods = { "code.create": () => ({ code: "abc", scopes: ["client"], expiresAt: 0 }) };
    const here = await chatAtTerminal({ page, methods, env: { BROWSER: browser } });
    here.terminal.type("/open\r");
    await here.terminal.sees(/^opened https:\/\/gsv\.example$/m);
    expect(readFileSync(join(folder, "opened"), "utf8")).toBe(`${page}/#c=abc\n`);
    const remote = await chatAtTerminal({ page, methods, env: { BROWSER: browser, SSH_TTY: "/dev/pts/1" } });
    remote.terminal.type("/open\r");
    await remote.terminal.sees(/^open https:\/\/gsv\.example\/#c=abc \(works once\)$/m);
    const old = await chatAtTerminal();
    old.terminal.type("/open\r");
    await old.terminal.sees("this gateway has no page yet");
    expect([...here.sent(), ...remote.sent(), ...old.sent()]).toEqual([]);
  });

  it("are recognized as the gateway's, including directives and aliases", () => {
    for (const message of [
      "/new",
      "/t high",
      "/? ",
      "/thinking",
      "/think:high why?",
      "/model:x/y hello",
      "/MODEL",
    ])
      expect(unknownCommand(message)).toBeUndefined();
    const others = completedCommands.filter(({ word }) => parseCommand(`/${word}`) === undefined);
    expect(others.map(({ word }) => word)).toEqual(["edit", "retry", "open", "quit", "exit"]);
  });
});
