import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { assistant, type FakeGateway, type FakeMethod, startFakeGateway } from "../../fake-gateway.ts";
import { type GsvOptions, gsv } from "../../run-gsv.ts";

let gateway: FakeGateway;
const run = (args: string[], options: GsvOptions = {}) =>
  gsv(args, { ...options, env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token", ...options.env } });
const answers = (table: Record<string, FakeMethod>) => {
  gateway.methods = table;
};
const lastParams = () => gateway.requests.at(-1)?.params;

beforeEach(async () => {
  gateway = await startFakeGateway({});
});
afterEach(() => gateway.close());

const day = Date.UTC(2026, 0, 2, 12);
const session = {
  sessionKey: "agent:main:main",
  sessionId: "id-1",
  createdAt: day,
  updatedAt: day,
  messageCount: 4,
  tokens: { input: 10, output: 5, total: 15 },
  settings: { model: { provider: "anthropic", id: "m1" }, thinkingLevel: "high" },
  resetPolicy: { mode: "daily", atHour: 4 },
  previousSessionIds: [],
  label: "home",
};

describe("gsv session", () => {
  it("lists sessions in aligned columns", async () => {
    const entry = { createdAt: day, lastActiveAt: day };
    answers({
      "sessions.list": () => ({
        sessions: [
          { sessionKey: "agent:main:main", label: "home", ...entry },
          { sessionKey: "agent:main:a-longer-one", ...entry },
        ],
        count: 2,
      }),
    });
    const { stdout } = await run(["session", "list", "--limit", "7"]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(3);
    expect(new Set(lines.map((line) => line.search(/LAST ACTIVE|2026/))).size).toBe(1);
    expect(lines[1]).toMatch(/home$/);
    expect(lastParams()).toEqual({ offset: 0, limit: 7 });
  });

  it("prints the gateway's answer as it is with --json", async () => {
    answers({ "session.get": () => session });
    const { stdout } = await run(["session", "get", "--json"]);
    expect(JSON.parse(stdout)).toEqual(session);
  });

  it("uses the default session where none is named", async () => {
    answers({ "session.get": () => session });
    const { stdout } = await run(["session", "get"]);
    expect(lastParams()).toEqual({ sessionKey: "agent:main:main" });
    expect(stdout).toContain("anthropic/m1");
    expect(stdout).toContain("daily at 4:00");
  });

  it("shows whether a session is working", async () => {
    answers({ "session.stats": () => ({ ...session, uptime: 1, isProcessing: true, queueSize: 2 }) });
    const { stdout } = await run(["session", "stats", "agent:main:other"]);
    expect(lastParams()).toEqual({ sessionKey: "agent:main:other" });
    expect(stdout).toMatch(/working +yes/);
    expect(stdout).toMatch(/waiting +2 messages/);
  });

  it("previews the newest messages with their times, and says how many there are", async () => {
    answers({
      "session.preview": () => ({
        ...{ sessionKey: "agent:main:main", sessionId: "id-1", messageCount: 9 },
        messages: [{ role: "user", content: "which files?", timestamp: 1 }, assistant("Two files.")],
      }),
    });
    const { stdout } = await run(["session", "preview", "--limit", "2"]);
    expect(stdout).toMatch(
      /^agent:main:main: 9 messages, the newest 2\n\n[-\d]+ [\d:]+ {2}user\n {2}which files\?\n\n[-\d]+ [\d:]+ {2}assistant\n {2}Two files\.\n$/,
    );
  });

  it.each([
    [["model", "openai/gpt-5.5"], { settings: { model: { provider: "openai", id: "gpt-5.5" } } }],
    [["model", "m2"], { settings: { model: { provider: "anthropic", id: "m2" } } }],
    [["model", "default"], { settings: { model: null } }],
    [["thinking", "low"], { settings: { thinkingLevel: "low" } }],
    [["max-tokens", "500"], { settings: { maxTokens: 500 } }],
    [["prompt", "Be brief."], { settings: { systemPrompt: "Be brief." } }],
    [["label", "work"], { label: "work" }],
    [["label", "default"], { label: null }],
    [["reset", "daily:6"], { resetPolicy: { mode: "daily", atHour: 6 } }],
    [["reset", "idle:30"], { resetPolicy: { mode: "idle", idleMinutes: 30 } }],
    [["reset", "manual"], { resetPolicy: { mode: "manual" } }],
    [
      ["agent:main:main", "model", "openai/gpt-5.5"],
      { settings: { model: { provider: "openai", id: "gpt-5.5" } } },
    ],
    [["agent:main:main", "thinkingLevel", "low"], { settings: { thinkingLevel: "low" } }],
    [["agent:main:main", "settings.maxTokens", "500"], { settings: { maxTokens: 500 } }],
    [["agent:main:main", "label", "work"], { label: "work" }],
    [["agent:main:main", "resetPolicy.atHour", "6"], { resetPolicy: { mode: "daily", atHour: 6 } }],
    [["agent:main:main", "resetPolicy.idleMinutes", "9"], { resetPolicy: { mode: "idle", idleMinutes: 9 } }],
    [["agent:main:main", "resetPolicy.mode", "manual"], { resetPolicy: { mode: "manual", atHour: 4 } }],
  ])("sets %j", async (args, patch) => {
    answers({ "session.get": () => session, "session.patch": () => ({ ok: true }) });
    expect((await run(["session", "set", ...args])).code).toBe(0);
    expect(lastParams()).toEqual({ sessionKey: "agent:main:main", ...patch });
  });

  it.each([
    ["colour", "red"],
    ["thinking", "deep"],
    ["reset", "daily:99"],
    ["max-tokens", "many"],
  ])("refuses to set %s to %s, and says what is possible", async (setting, value) => {
    const { code, stderr } = await run(["session", "set", setting, value]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/one of|is manual|whole number/);
    expect(gateway.requests).toEqual([]);
  });

  it("resets a session only when told to for sure", async () => {
    answers({ "session.reset": () => ({ ok: true, sessionKey: "agent:main:main", newSessionId: "id-2" }) });
    expect((await run(["session", "reset"])).code).toBe(2);
    expect(gateway.requests).toEqual([]);
    const { stdout } = await run(["session", "reset", "--yes"]);
    expect(stdout).toBe("agent:main:main starts over as id-2\n");
  });

  it("compacts a session and says what was kept", async () => {
    const archivedTo = "agents/main/sessions/id-1-part5.jsonl.gz";
    answers({ "session.compact": () => ({ ok: true, trimmedMessages: 30, keptMessages: 5, archivedTo }) });
    const { stdout } = await run(["session", "compact", "--keep", "5"]);
    expect(stdout).toBe(`agent:main:main: kept 5 messages, archived 30\narchive: ${archivedTo}\n`);
    expect(lastParams()).toEqual({ sessionKey: "agent:main:main", keepMessages: 5 });
    expect((await run(["session", "compact", "--keep", "none"])).code).toBe(2);
  });
});
