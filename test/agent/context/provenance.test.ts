import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { messageOrigin } from "../../../functions/agent/context/model-request.ts";
import { activeSetHash } from "../../../shared/context/context-entries.ts";
import type { Message } from "../../../shared/protocol/messages.ts";
import { message, nextDay, ResetBench } from "../reset-bench.ts";

const turns = new ResetBench();
beforeAll(() => turns.start());
beforeEach(() => turns.renew());
afterAll(() => turns.close());

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const entry = { id: "run-1", at: 1, kind: "message", text: "hi" } as const;

describe("M44: a stored user message", () => {
  it("names channel, account, conversation, sender and message of the messenger", async () => {
    const origin = {
      kind: "channel",
      channel: "telegram",
      accountId: "bot",
      peer: { kind: "group", id: "-1001234" },
      replyToId: "77",
      context: { secret: "never stored here" },
    } as const;
    turns.key = `agent:${turns.agentId}:telegram:bot:group:-1001234`;
    await turns.submit({ ...entry, at: nextDay, origin, senderId: "4711" });
    await turns.invoke(nextDay);
    const [stored] = await turns.live();
    expect(stored).toEqual({
      role: "user",
      content: "hi",
      origin: {
        channel: "telegram",
        accountId: "bot",
        peerKind: "group",
        peerId: "-1001234",
        senderId: "4711",
        messageId: "77",
      },
      tail: "<gateway>\nNow: Monday, 2026-03-02 09:00\nChannel: telegram\n</gateway>",
      timestamp: nextDay,
    });
  });

  it("names the client, or the gateway's task, with the run's id", () => {
    expect(messageOrigin({ ...entry, origin: { kind: "client" } })).toEqual({
      channel: "client",
      messageId: "run-1",
    });
    const task = { kind: "heartbeat", agentId: "main" } as const;
    expect(messageOrigin({ ...entry, origin: { kind: "client" }, task })).toEqual({
      channel: "heartbeat",
      messageId: "run-1",
    });
  });
});

describe("M44: a stored reply", () => {
  const replies = (messages: readonly Message[]) => messages.filter((one) => one.role === "assistant");

  it("names its prompt and results", async () => {
    await turns.state.bucket.put(`agents/${turns.agentId}/SOUL.md`, "the soul");
    turns.reply = ({ turns: said }) =>
      said.at(-1)?.role === "tool"
        ? { text: "done" }
        : { toolCalls: [{ name: "gsv__ReadFile", arguments: { path: "SOUL.md" } }] };
    await turns.submit(message("read it", nextDay));
    await turns.invoke(nextDay);
    const messages = await turns.live();
    const [calling, answer] = replies(messages);
    const sent = turns.model.requests.map(({ body }) => systemOf(body));
    for (const [i, reply] of [calling, answer].entries()) {
      const { prompt, model } = reply!.context!;
      expect(sha256(sent[i]!)).toBe(prompt);
      expect(model).toBe("openai-compatible/m");
    }
    const called = messages.flatMap((one) => (one.role === "toolResult" ? [one.toolCallId] : []));
    expect(called).toHaveLength(1);
    expect(calling!.context!.active).toBe(activeSetHash([]));
    expect(answer!.context!.active).toBe(activeSetHash(called));
  });

  it("keeps its prompt's hash until the provider's cache has expired and the workspace has changed", async () => {
    const ask = async (text: string, at: number) => {
      await turns.submit(message(text, at));
      await turns.invoke(at);
      return replies(await turns.live()).at(-1)!.context!;
    };
    const first = await ask("one", nextDay);
    const second = await ask("two", nextDay + 120_000);
    expect(second.prompt).toBe(first.prompt);
    await turns.state.bucket.put(`agents/${turns.agentId}/SOUL.md`, "another soul");
    expect((await ask("three", nextDay + 700_000)).prompt).not.toBe(first.prompt);
  });

  it("does not send the stored metadata of messages to the provider", async () => {
    await turns.submit(message("one", nextDay));
    await turns.invoke(nextDay);
    await turns.submit(message("two", nextDay + 1000));
    await turns.invoke(nextDay + 1000);
    const sent = turns.model.requests.at(-1)!.body as { messages: Record<string, unknown>[] };
    expect(sent.messages).toHaveLength(4);
    for (const one of sent.messages) expect(Object.keys(one).sort()).toEqual(["content", "role"]);
  });
});

it("the hash of an active set does not depend on the order of its ids", () => {
  expect(activeSetHash(["b", "a", "b"])).toBe(sha256("a\nb"));
});

function systemOf(body: unknown): string {
  const { messages } = body as { messages: { role: string; content: string }[] };
  return messages[0]!.content;
}
