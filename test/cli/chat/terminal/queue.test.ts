import { describe, expect, it } from "vitest";
import { until } from "../../../support/until.ts";
import { type ChatSetup, chatAtTerminal } from "./chat-at-terminal.ts";

/** A gateway that begins the first message, queues the others, and stops what `/stop` names. */
function queueing(): Required<Pick<ChatSetup, "methods">> {
  let runs = 0;
  return {
    methods: {
      "chat.send": ({ params: { message, runId } }) => {
        const command = { status: "command", command: "stop" };
        if (message === "/stop") return { ...command, response: "Stopped run r." };
        if (message.startsWith("/stop "))
          return {
            ...command,
            response: `Stopped before they began: ${message.slice(6).replaceAll(" ", ", ")}.`,
          };
        if (message.startsWith("/compact")) return new Promise(() => undefined);
        runs += 1;
        return { status: "started", runId, ...(runs > 1 ? { queued: true } : {}) };
      },
    },
  };
}

describe("messages that wait in a chat", () => {
  it("are listed until they begin", async () => {
    const chat = await chatAtTerminal(queueing());
    chat.terminal.type("first\rsecond\rthird\r");
    await chat.terminal.sees(/queued 1: second\nqueued 2: third\n>$/);
    chat.final(await chat.runId(1), "one");
    chat.delta(await chat.runId(2), "two", 0);
    await chat.terminal.sees(/two\n+queued 1: third\n>$/);
    chat.final(await chat.runId(2), "two");
    chat.final(await chat.runId(3), "three");
    await chat.terminal.until((text) => !text.includes("queued"), "no queue");
  });

  it.each([
    ["Ctrl-C", "\u0003"],
    ["Esc", "\u001b"],
  ])("are withdrawn with %s, and return to the prompt before what is typed there", async (_key, key) => {
    const chat = await chatAtTerminal(queueing());
    chat.terminal.type("first\rsecond\rthird\rand a draft");
    await chat.terminal.sees(/queued 2: third/);
    chat.terminal.type(key);
    await chat.terminal.sees(
      /\(2 queued messages returned to the prompt\)\n> second\n\n {2}third\n\n {2}and a draft$/,
    );
    expect(chat.terminal.text()).toContain("(stopped)\n");
    const ids = chat
      .sent()
      .slice(1, 3)
      .map(({ runId }) => runId);
    expect(
      chat
        .sent()
        .slice(3)
        .map(({ message }) => message),
    ).toEqual([`/stop ${ids.join(" ")}`, "/stop"]);
  });

  it("return to the prompt in the order in which they were typed, without commands", async () => {
    const chat = await chatAtTerminal(queueing());
    chat.terminal.type("first\rsecond\r/compact\rthird\r");
    await chat.terminal.sees(/queued 2: \/compact\nqueued 3 \(not sent yet\): third\n>$/);
    chat.terminal.type("\u0003");
    await chat.terminal.sees(/\(not executed: \/compact\)[^>]*> second\n\n {2}third$/);
  });

  it("are not sent while an earlier one is not accepted, and a stop withdraws those, too", async () => {
    const chat = await chatAtTerminal(queueing());
    chat.terminal.type("/compact\rnot yet\r");
    await chat.terminal.sees("queued 1 (not sent yet): not yet\n>");
    chat.terminal.type("\u0003");
    await chat.terminal.sees(/\(not executed: \/compact\)\n[^>]*> not yet$/);
    chat.terminal.type("\r");
    await until(() => chat.sent().at(-1)?.message === "not yet", "the message was sent");
  });

  it("are reported with Ctrl-D: which ones continue, and which were not sent", async () => {
    const chat = await chatAtTerminal(queueing());
    chat.terminal.type("first\rsecond\r/compact\rnot yet\r");
    await chat.terminal.sees("(not sent yet): not yet");
    chat.terminal.type("\u0004");
    expect(await chat.terminal.ended).toBe(0);
    expect(chat.terminal.text()).toMatch(
      /left; the run continues, and .*; 2 queued\s+messages follow\nnot sent: not yet$/,
    );
  });
});

describe("/retry", () => {
  it("sends the last message again that was stopped or failed, and nothing after an answer", async () => {
    const chat = await chatAtTerminal(queueing());
    chat.terminal.type("/retry\r");
    await chat.terminal.sees("nothing to send again");
    chat.terminal.type("first\r");
    chat.gateway.emit("chat", { ...failure, runId: await chat.runId(1) });
    await chat.terminal.sees("error: LLM error: overloaded\n(/retry sends it again)\n\n>");
    chat.terminal.type("/retry\r");
    chat.final(await chat.runId(2), "an answer");
    await chat.terminal.sees("> first\nan answer");
    chat.terminal.type("/retry\r");
    await chat.terminal.sees(/> \/retry\n\(nothing to send again[^>]*>$/);
    expect(chat.sent().map(({ message }) => message)).toEqual(["first", "first"]);
  });
});

const failure = { sessionKey: "agent:main:main", state: "error", error: "LLM error: overloaded" } as const;
