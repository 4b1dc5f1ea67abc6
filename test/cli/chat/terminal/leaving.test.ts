import { describe, expect, it } from "vitest";
import { startGsvAtTerminal, startShellAtTerminal } from "../../../support/terminal/pseudo-terminal.ts";
import { chatAtTerminal, stoppable } from "./chat-at-terminal.ts";

describe("leaving a chat at a terminal", () => {
  it("keeps the input across Ctrl-Z and fg", async () => {
    const chat = await chatAtTerminal({
      start: (args, options) => {
        const shell = startShellAtTerminal(options);
        shell.type(`gsv ${args.join(" ")}\r`);
        return shell;
      },
    });
    const { terminal } = chat;
    terminal.type("half a mess");
    await terminal.sees("> half a mess");
    terminal.type("\u001a");
    await terminal.sees(/stopped/i);
    terminal.type("echo in the $((40 + 2)) shell\r");
    await terminal.sees("in the 42 shell");
    terminal.type("fg\r");
    await terminal.sees(/fg\n(.*\n)?> half a mess$/);
    terminal.type("age\r");
    chat.final(await chat.runId(1), "I am **back**.");
    await terminal.sees("> half a message\nI am back.\n\n>");
    expect(chat.sent()[0]?.message).toBe("half a message");
    terminal.type("\u0004");
    await terminal.until((text) => text.endsWith("$"), "the shell's prompt");
    terminal.type("echo typed in the shell\r");
    await terminal.sees("$ echo typed in the shell\ntyped in the shell");
  });

  it("reports with Ctrl-D that the run continues, and does not stop it", async () => {
    const chat = await chatAtTerminal({ methods: { "chat.send": stoppable }, start: startGsvAtTerminal });
    chat.terminal.type("work hard\r");
    await chat.runId(1);
    chat.terminal.type("\u0004");
    expect(await chat.terminal.ended).toBe(0);
    expect(chat.terminal.text()).toMatch(/left; the run continues, and its answer will be in the session$/);
    expect(chat.sent().map(({ message }) => message)).toEqual(["work hard"]);
  });

  it("stops the run and reports only that, with Ctrl-C twice", async () => {
    const chat = await chatAtTerminal({ methods: { "chat.send": stoppable } });
    chat.terminal.type("work hard\r");
    await chat.runId(1);
    chat.terminal.type("\u0003");
    await chat.terminal.sees("(stopped)");
    chat.terminal.type("\u0003");
    expect(await chat.terminal.ended).toBe(0);
    expect(chat.terminal.text()).toMatch(
      /\(stopping; Ctrl-C again leaves\)\n\(stopped\)\n\(\/retry sends it again\)\n\n>$/,
    );
  });

  it("reports an unconfirmed stop when the user leaves before the gateway answers it", async () => {
    const chat = await chatAtTerminal({
      methods: {
        "chat.send": (request) =>
          request.params.message === "/stop" ? new Promise(() => undefined) : stoppable(request),
      },
    });
    chat.terminal.type("work hard\r");
    await chat.runId(1);
    chat.terminal.type("\u0003");
    await chat.runId(2);
    chat.terminal.type("\u0003");
    expect(await chat.terminal.ended).toBe(0);
    expect(chat.terminal.text()).toContain("left before the gateway confirmed the stop");
    expect(chat.terminal.text()).not.toContain("the run goes on");
  });
});
