import { describe, expect, it } from "vitest";
import { completedCommands, unknownCommand } from "../../../../cli/chat/terminal/chat-commands.ts";
import { parseCommand } from "../../../../shared/session/commands/parse-command.ts";
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
    expect(others.map(({ word }) => word)).toEqual(["edit", "retry", "quit", "exit"]);
  });
});
