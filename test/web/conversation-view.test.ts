import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Message } from "../../shared/protocol/messages.ts";
import { ConversationView } from "../../web/state/conversation-view.ts";
import type { PageConnection, WireState } from "../../web/wire/page-connection.ts";
import type { PageStore } from "../../web/wire/page-store.ts";

const sessionKey = "agent:main:main";
let messages: (Message & { seq: number })[];
let isProcessing: boolean;
let failures: number;
let requests: string[];
let state: WireState;

const say = (role: "user" | "assistant", text: string) => {
  const content = role === "user" ? text : [{ type: "text" as const, text }];
  messages.push({ role, content, timestamp: messages.length, seq: messages.length + 1 } as Message & {
    seq: number;
  });
};

async function answer(method: string) {
  requests.push(method);
  if (failures > 0) {
    failures--;
    throw new Error("503");
  }
  if (method === "session.preview")
    return { sessionKey, sessionId: "s-1", first: 1, messages: [...messages] };
  return { isProcessing, queueSize: 0 };
}

function openView() {
  const connection = {
    request: answer as unknown as PageConnection["request"],
    get state() {
      return state;
    },
  };
  const store = { get: async () => undefined, put: async () => undefined } as unknown as PageStore;
  return new ConversationView(connection, store, "main");
}

const shown = (view: ConversationView) =>
  view.entries.value.map((entry) => ("text" in entry ? entry.text : entry.kind));

describe("a conversation on the page", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    [messages, isProcessing, failures, requests] = [[], false, 0, []];
    state = { status: "connected", hello: {} as never };
  });
  afterEach(() => vi.useRealTimers());

  it("shows the end of a run whose event was sent before the gateway knew the page", async () => {
    const view = openView();
    say("user", "hello");
    isProcessing = true;
    await view.refresh();
    expect(view.isRunning.value).toBe(true);
    say("assistant", "hi");
    isProcessing = false;
    await vi.advanceTimersByTimeAsync(1_500);
    expect(shown(view)).toEqual(["hello", "hi"]);
    expect(view.isRunning.value).toBe(false);
    const { length } = requests;
    await vi.advanceTimersByTimeAsync(600_000);
    expect(requests).toHaveLength(length);
  });

  it("is read ever more rarely while a run goes on, and not at all when another session is shown", async () => {
    const view = openView();
    isProcessing = true;
    await view.refresh();
    await vi.advanceTimersByTimeAsync(60_000);
    const previews = requests.filter((method) => method === "session.preview");
    // At once, and after 1.5, 4.5, 10.5, 22.5 and 52.5 seconds.
    expect(previews).toHaveLength(6);
    view.close();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(requests.filter((method) => method === "session.preview")).toHaveLength(6);
  });

  it("is read again after a request has failed", async () => {
    const view = openView();
    say("user", "hello");
    failures = 2;
    await view.refresh();
    expect(shown(view)).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_500);
    expect(shown(view)).toEqual(["hello"]);
  });

  it("is read when a connection is there, and waits without one", async () => {
    state = { status: "connecting" };
    const view = openView();
    isProcessing = true;
    await view.refresh();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(requests).toEqual([]);
    state = { status: "connected", hello: {} as never };
    say("user", "hello");
    await view.refresh();
    expect(shown(view)).toEqual(["hello"]);
  });

  it("is read once more when something happens while it is read", async () => {
    const view = openView();
    await Promise.all([view.refresh(), view.refresh(), view.refresh()]);
    expect(requests.filter((method) => method === "session.preview")).toHaveLength(2);
  });
});
