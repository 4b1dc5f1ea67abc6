import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SearchHit } from "../../../../shared/protocol/search.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { gsv } from "../../run-gsv.ts";

let gateway: FakeGateway;
const run = (...args: string[]) =>
  gsv(args, { env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token", TZ: "UTC" } });

beforeEach(async () => {
  gateway = await startFakeGateway({});
});
afterEach(() => gateway.close());

const hit: SearchHit = {
  sessionKey: "agent:main:main",
  sessionId: "s-1",
  message: 3,
  at: Date.UTC(2025, 2, 12, 12, 15),
  role: "user",
  source: "main",
  text: "sheepdog-42-lantern.\nKeep it.",
  truncated: false,
  score: 7,
};
const answer = (hits: SearchHit[], waiting = 0) => ({ agentId: "main", hits, count: hits.length, waiting });

describe("gsv search", () => {
  it("prints the time, author, place and text of each match", async () => {
    const heard = { ...hit, role: "assistant", source: "from a group" } as const;
    gateway.methods = { "session.search": () => answer([hit, heard]) };
    const { stdout } = await run("search", "wifi", "password");
    expect(stdout).toMatch(
      /^2025-03-1[123] \d\d:\d\d {2}you {2}agent:main:main {2}s-1 message 3\n {2}sheepdog-42-lantern\.\n {2}Keep it\.\n\n/,
    );
    expect(stdout).toContain("agent, from a group  agent:main:main");
    expect(gateway.requests).toEqual([
      { method: "session.search", params: { query: "wifi password", limit: 10, maxChars: 200 } },
    ]);
  });

  it("passes its options to the gateway", async () => {
    gateway.methods = { "session.search": () => answer([]) };
    const { stdout } = await run("search", "tea", "--limit", "3", "--max-chars", "50", "--agent", "work");
    expect(stdout).toBe("no messages match tea\n");
    expect(gateway.requests[0]?.params).toEqual({ query: "tea", limit: 3, maxChars: 50, agentId: "work" });
  });

  it("searches again while archives are being indexed, and reports those that failed", async () => {
    const waiting = [25, 5, 5];
    gateway.methods = { "session.search": () => answer([hit], waiting.shift()) };
    const { stdout, stderr } = await run("search", "tea", "--json");
    expect(JSON.parse(stdout)).toEqual(answer([hit], 5));
    expect(gateway.requests).toHaveLength(3);
    expect(stderr).toContain("5 archives could not be searched");
  });
});
