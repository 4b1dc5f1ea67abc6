import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createNodeNews } from "../../../../cli/chat/terminal/node-presence-lines.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const came = (nodeId: string) => ({ nodeId, connected: true, tools: ["a", "b"] });
const went = (nodeId: string) => ({ nodeId, connected: false, tools: [] });

it("a node that connects is reported at once, one that leaves after five seconds", () => {
  const said: string[] = [];
  const news = createNodeNews((line) => said.push(line));
  news.update(came("laptop"));
  expect(said).toEqual(["laptop is connected: 2 tools"]);
  news.update(went("laptop"));
  vi.advanceTimersByTime(4999);
  expect(said).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(said[1]).toBe("laptop has left; its tools are unavailable until it reconnects");
});

it("a node that reconnects within five seconds is not reported", () => {
  const said: string[] = [];
  const news = createNodeNews((line) => said.push(line));
  news.update(went("laptop"));
  vi.advanceTimersByTime(4000);
  news.update(came("laptop"));
  vi.advanceTimersByTime(60_000);
  expect(said).toEqual([]);
  news.update(came("desk"));
  expect(said).toEqual(["desk is connected: 2 tools"]);
});

it("nothing is reported after stop", () => {
  const said: string[] = [];
  const news = createNodeNews((line) => said.push(line));
  news.update(went("laptop"));
  news.stop();
  vi.advanceTimersByTime(60_000);
  expect(said).toEqual([]);
});
