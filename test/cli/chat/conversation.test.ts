import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Conversation } from "../../../cli/chat/conversation.ts";
import type { RunStep } from "../../../cli/chat/run-view.ts";
import { type Gateway, openGateway } from "../../../cli/gateway/gateway-client.ts";
import { PeerError } from "../../../shared/protocol/errors.ts";
import type { ChatReply } from "../../../shared/protocol/events.ts";
import { assistant, type FakeGateway, type FakeMethod, startFakeGateway } from "../fake-gateway.ts";

let fake: FakeGateway;
let gateway: Gateway;
let conversation: Conversation;
const timing = { quietMs: 60, retryMs: 20 };
const sessionKey = "agent:main:main";
const idle = () => ({ isProcessing: false, queueSize: 0 });

async function converse(table: Record<string, FakeMethod>): Promise<void> {
  fake = await startFakeGateway({ "session.stats": () => ({ isProcessing: true, queueSize: 0 }), ...table });
  gateway = await openGateway(fake.url, "good-token");
  conversation = new Conversation(gateway, sessionKey, timing);
}
const final = (runId: string, text: string): ChatReply => ({
  runId,
  sessionKey,
  state: "final",
  message: assistant(text),
});
const echo: FakeMethod = ({ params, emit }) => {
  emit("chat", final(params.runId, `you said ${params.message}`));
  return { status: "started", runId: params.runId };
};

beforeEach(() => {
  fake = undefined as never;
});
afterEach(async () => {
  conversation.close();
  await gateway.close();
  await fake.close();
});

describe("a conversation", () => {
  it("resolves with the answer, even when that arrives before the acknowledgement", async () => {
    await converse({ "chat.send": echo });
    expect(await conversation.send("hi", () => {})).toMatchObject({
      status: "answered",
      text: "you said hi",
    });
  });

  it("passes on text and tool activity as it happens", async () => {
    await converse({
      "chat.send": ({ params: { runId }, emit }) => {
        emit("chat", { runId, sessionKey, state: "delta", text: "wor", seq: 0, attempt: 1, step: 0 });
        emit("tool.result", {
          runId,
          sessionKey,
          callId: "c",
          tool: "pi__Bash",
          isError: true,
          preview: "no",
        });
        emit("chat", final(runId, "done"));
        return { status: "started", runId };
      },
    });
    const steps: RunStep[] = [];
    await conversation.send("hi", (step) => steps.push(step));
    expect(steps.map(({ kind }) => kind)).toEqual(["text", "tool", "restart", "text", "reply"]);
  });

  it("ignores the runs of others", async () => {
    await converse({
      "chat.send": ({ params, emit }) => {
        emit("chat", final("another", "not for you"));
        emit("chat", final(params.runId, "for you"));
        return { status: "started", runId: params.runId };
      },
    });
    expect(await conversation.send("hi", () => {})).toMatchObject({ text: "for you" });
  });

  it("returns a command's response, and a command's error as a failure", async () => {
    await converse({
      "chat.send": ({ params }) =>
        params.message === "/status"
          ? { status: "command", command: "status", response: "all well" }
          : { status: "command", command: "model", error: "Invalid model selector: x" },
    });
    expect(await conversation.send("/status", () => {})).toMatchObject({
      status: "command",
      text: "all well",
    });
    expect(await conversation.send("/model x", () => {})).toMatchObject({
      status: "failed",
      error: "Invalid model selector: x",
    });
  });

  it("reports a failed run with the gateway's error", async () => {
    await converse({
      "chat.send": ({ params: { runId }, emit }) => {
        emit("chat", { runId, sessionKey, state: "error", error: "LLM error: overloaded" });
        return { status: "started", runId };
      },
    });
    expect(await conversation.send("hi", () => {})).toMatchObject({
      status: "failed",
      error: "LLM error: overloaded",
    });
  });

  it("sends messages in order, without waiting for answers", async () => {
    await converse({ "chat.send": ({ params }) => ({ status: "started", runId: params.runId }) });
    const sent = ["one", "two", "three"].map((message) => conversation.send(message, () => {}));
    await expect.poll(() => fake.requests.filter(({ method }) => method === "chat.send").length).toBe(3);
    const params = fake.requests
      .filter(({ method }) => method === "chat.send")
      .map((request) => request.params as { message: string; runId: string });
    expect(params.map(({ message }) => message)).toEqual(["one", "two", "three"]);
    for (const { runId, message } of params) fake.emit("chat", final(runId, message));
    expect((await Promise.all(sent)).map(({ text }) => text)).toEqual(["one", "two", "three"]);
  });

  it("stops only the current run", async () => {
    await converse({
      "chat.send": ({ params: { message, runId } }) =>
        message === "/stop"
          ? { status: "command", command: "stop", response: "Stopped run r." }
          : { status: "started", runId, queued: message === "second" },
    });
    const first = conversation.send("first", () => {});
    const second = conversation.send("second", () => {});
    await expect.poll(() => fake.requests.filter(({ method }) => method === "chat.send").length).toBe(2);
    expect(await conversation.stop()).toBe("Stopped run r.");
    expect(await first).toMatchObject({ status: "stopped" });
    expect(conversation.active).toBe(1);
    const { runId } = fake.requests.filter(({ method }) => method === "chat.send")[1]!.params as {
      runId: string;
    };
    fake.emit("chat", final(runId, "answer"));
    expect(await second).toMatchObject({ status: "answered", text: "answer" });
  });

  it("stops a message that the gateway accepts only after the stop", async () => {
    let accept = () => {};
    await converse({
      "chat.send": ({ params: { message, runId } }) => {
        if (message === "slow")
          return new Promise((resolve) => {
            accept = () => resolve({ status: "started", runId });
          });
        const [, id] = message.split(" ");
        return { status: "command", response: id ? `Stopped run ${id}.` : "No run in progress." };
      },
    });
    const slow = conversation.send("slow", () => {});
    await expect.poll(() => fake.requests.some(({ method }) => method === "chat.send")).toBe(true);
    expect(await conversation.stop()).toBe("No run in progress.");
    accept();
    expect(await slow).toMatchObject({ status: "stopped" });
  });

  it("resends a message under its own run id when the connection was lost before the answer", async () => {
    let tries = 0;
    await converse({
      "chat.send": (request) => {
        if (tries++ > 0) return echo(request);
        request.dropAll();
        return undefined;
      },
    });
    expect(await conversation.send("hi", () => {})).toMatchObject({
      status: "answered",
      text: "you said hi",
    });
    const ids = fake.requests.filter(({ method }) => method === "chat.send");
    expect(ids.length).toBeGreaterThan(1);
    expect(new Set(ids.map(({ params }) => (params as { runId: string }).runId)).size).toBe(1);
  });

  it("retries a message when the gateway is busy, but not a command", async () => {
    let busy = 2;
    await converse({
      "chat.send": (request) => {
        if (busy-- > 0 || request.params.message === "/new")
          throw new PeerError(429, "busy", { retryable: true });
        return echo(request);
      },
    });
    expect(await conversation.send("hi", () => {})).toMatchObject({ status: "answered" });
    busy = 1;
    const path = "/etc/hosts – what is in there?";
    expect(await conversation.send(path, () => {})).toMatchObject({ status: "answered" });
    expect(await conversation.send("/new", () => {})).toMatchObject({ status: "failed" });
  });

  it("looks up an answer whose event was lost with the connection", async () => {
    await converse({
      "chat.send": (request) => {
        setTimeout(request.dropAll, 10);
        return { status: "started", runId: request.params.runId };
      },
      "session.stats": idle,
      "session.preview": () => ({
        messages: [
          { role: "user", content: "hi", timestamp: 1 },
          assistant("", [{ id: "c", name: "pi__Bash", arguments: {} }]),
          assistant("the answer"),
          { role: "user", content: "something else", timestamp: 1 },
          assistant("not this"),
        ],
      }),
    });
    expect(await conversation.send("hi", () => {})).toMatchObject({ status: "answered", text: "the answer" });
  });

  it("repeats the lookup of an answer until it succeeds", async () => {
    let looks = 0;
    await converse({
      "chat.send": ({ params }) => ({ status: "started", runId: params.runId }),
      "session.stats": idle,
      "session.preview": () => {
        if (++looks < 3) throw new Error("throttled");
        return { messages: [{ role: "user", content: "hi", timestamp: 1 }, assistant("the answer")] };
      },
    });
    expect(await conversation.send("hi", () => {})).toMatchObject({ status: "answered", text: "the answer" });
  });

  it("does not use text before a tool call as the answer of a failed run", async () => {
    await converse({
      "chat.send": ({ params }) => ({ status: "started", runId: params.runId }),
      "session.stats": idle,
      "session.preview": () => ({
        messages: [
          { role: "user", content: "hi", timestamp: 1 },
          assistant("I will look.", [{ id: "c", name: "pi__Bash", arguments: {} }]),
        ],
      }),
    });
    expect(await conversation.send("hi", () => {})).toMatchObject({ status: "failed" });
  });

  it("looks up an answer that was too large for an event", async () => {
    await converse({
      "chat.send": ({ params: { runId }, emit }) => {
        emit("chat", { ...final(runId, "(too long)"), truncated: true });
        return { status: "started", runId };
      },
      "session.preview": () => ({
        messages: [{ role: "user", content: "hi", timestamp: 1 }, assistant("all of it")],
      }),
    });
    const steps: RunStep[] = [];
    expect(await conversation.send("hi", (step) => steps.push(step))).toMatchObject({ text: "all of it" });
    expect(steps).toEqual([
      { kind: "text", text: "all of it" },
      { kind: "reply", text: "all of it" },
    ]);
  });

  it("waits for a run that is silent but still active", async () => {
    let looks = 0;
    let runId = "";
    await converse({
      "chat.send": ({ params }) => {
        runId = params.runId;
        return { status: "started", runId };
      },
      "session.stats": ({ emit }) => {
        if (++looks === 4) emit("chat", final(runId, "at last"));
        return { isProcessing: true, queueSize: 0 };
      },
    });
    const steps: RunStep[] = [];
    const answer = await conversation.send("hi", (step) => steps.push(step));
    expect(answer).toMatchObject({ status: "answered", text: "at last" });
    expect(steps.filter(({ kind }) => kind === "silence").length).toBeGreaterThan(0);
  });

  it("reports a run that ended without an answer", async () => {
    await converse({
      "chat.send": ({ params }) => ({ status: "started", runId: params.runId }),
      "session.stats": idle,
      "session.preview": () => ({ messages: [{ role: "user", content: "hi", timestamp: 1 }] }),
    });
    expect(await conversation.send("hi", () => {})).toMatchObject({
      status: "failed",
      error: expect.stringContaining("gsv session preview"),
    });
  });
});
