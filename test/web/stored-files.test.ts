import { signal } from "@preact/signals";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ConsoleState } from "../../web/state/console-state.ts";
import { storedFiles } from "../../web/state/stored-files.ts";

let answers: (Response | Error)[];
let requests: number;

const state = (status = signal("connected")) =>
  ({
    wire: {
      get value() {
        return { status: status.value };
      },
    },
    conversation: { value: { sessionKey: { value: "agent:main:main" } } },
    connection: {
      request: async () => {
        requests++;
        return { url: "http://storage.example/picture" };
      },
    },
  }) as unknown as ConsoleState;

beforeEach(() => {
  vi.useFakeTimers();
  requests = 0;
  vi.stubGlobal("fetch", async () => {
    const answer = answers.shift();
    if (answer instanceof Response) return answer;
    throw answer;
  });
});
afterEach(() => vi.useRealTimers());

it("reads a file again after the storage has failed, and keeps it", async () => {
  answers = [new Response("", { status: 503 }), new Error("no network"), new Response("picture")];
  const read = storedFiles(state());
  const found = read("media/a.png");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await (await found)?.text()).toBe("picture");
  expect(await read("media/a.png")).toBe(await found);
  expect(requests).toBe(3);
});

it("gives up after some attempts, and begins again when it is asked again", async () => {
  answers = Array.from({ length: 4 }, () => new Response("", { status: 404 }));
  const read = storedFiles(state());
  const found = read("media/a.png");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await found).toBeUndefined();
  answers = [new Response("picture")];
  expect(await (await read("media/a.png"))?.text()).toBe("picture");
});

it("waits for a connection", async () => {
  const status = signal("connecting");
  answers = [new Response("picture")];
  const found = storedFiles(state(status))("media/a.png");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(requests).toBe(0);
  status.value = "connected";
  expect(await (await found)?.text()).toBe("picture");
});
