import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startDev } from "../../../../local/dev/dev.ts";
import { patchSession } from "../../../../shared/session/sessions.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
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

  it("forks a session before a message, each time with an id of its own", async () => {
    answers({ "session.fork": () => ({ sessionKey: "agent:main:fork-1", sessionId: "1", messages: 1 }) });
    const { stdout } = await run(["session", "fork", "agent:main:main", "--before", "12"]);
    expect(stdout).toBe("agent:main:fork-1 has 1 message\n");
    expect(lastParams()).toMatchObject({ sessionKey: "agent:main:main", seq: 12 });
    const first = lastParams() as { forkId: string };
    const json = await run(["session", "fork", "agent:main:main", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ sessionKey: "agent:main:fork-1", messages: 1 });
    expect(lastParams()).not.toHaveProperty("seq");
    expect((lastParams() as { forkId: string }).forkId).not.toBe(first.forkId);
  });

  it("prints the gateway's answer unchanged with --json", async () => {
    answers({ "session.get": () => session });
    const { stdout } = await run(["session", "get", "--json"]);
    expect(JSON.parse(stdout)).toEqual(session);
  });

  it("uses the default session when none is named", async () => {
    answers({ "session.get": () => session });
    const { stdout } = await run(["session", "get"]);
    expect(lastParams()).toEqual({ sessionKey: "agent:main:main" });
    expect(stdout).toContain("anthropic/m1");
    expect(stdout).toContain("daily at 4:00");
  });

  it("shows whether a session has an active run", async () => {
    answers({ "session.stats": () => ({ ...session, uptime: 1, isProcessing: true, queueSize: 2 }) });
    const { stdout } = await run(["session", "stats", "agent:main:other"]);
    expect(lastParams()).toEqual({ sessionKey: "agent:main:other" });
    expect(stdout).toMatch(/working +yes/);
    expect(stdout).toMatch(/waiting +2 messages/);
  });

  it.each(["get", "stats", "preview"])(
    "%s reports a session that does not exist, and creates none",
    async (name) => {
      const cwd = newFolder();
      const dev = await startDev({ dir: join(cwd, ".gsv") });
      await patchSession(dev.cloud.world.table, "agent:main:work", { label: "w" }, Date.now());
      const { code, stdout, stderr } = await gsv(["session", name, "wrok"], { cwd });
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(/there is no session agent:main:wrok \(did you mean agent:main:work\?\); /);
      const { stdout: json } = await gsv(["session", name, "nosuch", "--json"], { cwd });
      expect(JSON.parse(json).error.code).toBe(404);
      expect((await gsv(["session", "list"], { cwd })).stdout).not.toMatch(/nosuch|wrok/);
      await dev.close();
    },
  );

  const spending = {
    ...{ calls: 2, input: 1000, output: 345, cacheRead: 20_000, cacheWrite: 0 },
    unpriced: 0,
  };
  it.each([
    [
      "the price",
      { ...spending, dollars: 0.04213 },
      "2 calls, 21,000 in (20,000 from the cache), 345 out, $0.0421",
    ],
    ["a high price", { ...spending, dollars: 12.3456 }, "345 out, $12.35"],
    ["a tiny price", { ...spending, dollars: 0.00001 }, "345 out, less than $0.0001"],
    ["a price that is partly known", { ...spending, dollars: 0.5, unpriced: 1 }, "345 out, at least $0.5000"],
    ["a model that is free", { ...spending, dollars: 0, unpriced: 0 }, "345 out, free"],
    ["no price", { ...spending, dollars: 0, unpriced: 2 }, "345 out, price unknown"],
    ["a single call", { ...spending, calls: 1, cacheRead: 0, dollars: 0 }, "1 call, 1,000 in, 345 out, free"],
  ])("shows what was spent, with %s", async (_what, spent, text) => {
    const nothing = { calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, dollars: 0, unpriced: 0 };
    const today = { date: "2026-11-22", session: nothing, all: spent };
    const cost = { sessionKey: "agent:main:main", turn: { ...spent, runId: "r" }, session: spent, today };
    answers({ "session.cost": () => cost });
    const { stdout } = await run(["session", "cost"]);
    expect(lastParams()).toEqual({ sessionKey: "agent:main:main" });
    expect(stdout).toMatch(
      /^Last turn: .*\nThis conversation: .*\nToday \(2026-11-22\): nothing\nToday, all sessions: /,
    );
    expect(stdout).toContain(text);
    expect(JSON.parse((await run(["session", "cost", "--json"])).stdout)).toEqual(cost);
  });

  it("shows how full the context window is", async () => {
    const last = { tokens: 12_345, window: 200_000, prompt: 8000, compactsAt: 180_000 };
    const objects = {
      rendering: "inline",
      entries: [],
      more: 0,
      active: [],
      inactive: [],
      pinned: [],
      active_hash: "",
    } as const;
    const found = {
      sessionKey: "agent:main:main",
      model: "anthropic/m1",
      messageCount: 4,
      last,
      ...structuredClone(objects),
    };
    answers({ "session.context": () => found });
    expect((await run(["session", "context"])).stdout).toBe(
      [
        ...["Model: anthropic/m1", "Messages: 4", "Context: 12,345 of 200,000 tokens (6%)"],
        "Of these: prompt and tools about 8,000, messages about 4,345",
        "Compacted above: 180,000 tokens\n",
      ].join("\n"),
    );
    expect(JSON.parse((await run(["session", "context", "--json"])).stdout)).toEqual(found);
  });

  it("shows which objects the model sees, and changes that", async () => {
    const hash = { metadata_view_hash: "" };
    const call = {
      id: "toolu_1",
      type: "toolcall",
      args_display: 'n__Bash: "ls"',
      tokens: 12,
      ...hash,
    } as const;
    const file = {
      id: "file:gsv:a.md",
      type: "file",
      path: "a.md",
      active: true,
      pinned: true,
      ...hash,
    } as const;
    answers({
      "session.context": () => ({
        ...{
          sessionKey: "agent:main:main",
          model: "anthropic/m1",
          messageCount: 4,
          rendering: "inline" as const,
        },
        entries: [{ ...call, active: false, pinned: false, archived: true as const }, file],
        ...{ more: 2, active: [file.id], inactive: [call.id], pinned: [file.id], active_hash: "" },
      }),
      "session.activate": () => ({
        ok: true,
        id: "toolu_1",
        state: "active",
        note: "In the next model call",
      }),
      "session.deactivate": () => ({ ok: true, id: "toolu_1", state: "inactive", note: "Out of it" }),
      "session.pin": ({ params: { pinned } }) => ({
        ...{ ok: true, id: "toolu_1", state: pinned ? "pinned" : "automatic" },
        note: pinned ? "Pinned" : "No longer pinned",
      }),
    });
    const { stdout } = await run(["session", "context"]);
    expect(stdout).toContain("2 objects, 1 of them visible to the model (inline)");
    expect(stdout).toMatch(/archived\s+toolu_1\s+12\s+n__Bash: "ls"\npinned\s+file:gsv:a\.md\s+a\.md/);
    expect(stdout).toContain("and 2 older calls; the transcript has their ids");
    expect((await run(["session", "activate", "toolu_1"])).stdout).toBe("toolu_1: In the next model call\n");
    expect((await run(["session", "deactivate", "toolu_1"])).stdout).toBe("toolu_1: Out of it\n");
    expect((await run(["session", "pin", "toolu_1"])).stdout).toBe("toolu_1: Pinned\n");
    expect((await run(["session", "pin", "toolu_1", "--remove"])).stdout).toBe("toolu_1: No longer pinned\n");
    expect((await run(["session", "pin"])).code).toBe(2);
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
    [["thinking", "default"], { settings: { thinkingLevel: null } }],
    [["max-tokens", "500"], { settings: { maxTokens: 500 } }],
    [["prompt", "Be brief."], { settings: { systemPrompt: "Be brief." } }],
    [["label", "work"], { label: "work" }],
    [["label", "default"], { label: null }],
    [["reset", "daily:6"], { resetPolicy: { mode: "daily", atHour: 6 } }],
    [["reset", "idle:30"], { resetPolicy: { mode: "idle", idleMinutes: 30 } }],
    [["reset", "manual"], { resetPolicy: { mode: "manual" } }],
    [["reset", "default"], { resetPolicy: null }],
    [
      ["agent:main:main", "model", "openai/gpt-5.5"],
      { settings: { model: { provider: "openai", id: "gpt-5.5" } } },
    ],
    [["agent:main:main", "thinkingLevel", "low"], { settings: { thinkingLevel: "low" } }],
    [["agent:main:main", "settings.maxTokens", "500"], { settings: { maxTokens: 500 } }],
    [["agent:main:main", "systemPrompt", "Be brief."], { settings: { systemPrompt: "Be brief." } }],
    [["agent:main:main", "label", "work"], { label: "work" }],
    [["agent:main:main", "resetPolicy", "idle:30"], { resetPolicy: { mode: "idle", idleMinutes: 30 } }],
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
    expect(stderr).toMatch(/one of|must be|whole number/);
    expect(gateway.requests).toEqual([]);
  });

  it("suggests a similar setting, and shows the format of a model", async () => {
    answers({ "session.get": () => ({ ...session, settings: {} }) });
    expect((await run(["session", "set", "modle", "m2"])).stderr).toContain(
      "no setting modle (did you mean model?)",
    );
    const { code, stderr } = await run(["session", "set", "model", "m2"]);
    expect([code, stderr]).toEqual([2, "gsv: model must be provider/id, for example anthropic/m2\n"]);
    expect(gateway.requests.map(({ method }) => method)).toEqual(["session.get"]);
  });

  it("resets a session only after a confirmation", async () => {
    answers({ "session.reset": () => ({ ok: true, sessionKey: "agent:main:main", newSessionId: "id-2" }) });
    expect((await run(["session", "reset"])).code).toBe(2);
    expect(gateway.requests).toEqual([]);
    const { stdout } = await run(["session", "reset", "--yes"]);
    expect(stdout).toBe("agent:main:main starts over as id-2\n");
  });

  it("compacts a session and reports the number of kept messages", async () => {
    const archivedTo = "agents/main/sessions/id-1-part5.jsonl.gz";
    answers({ "session.compact": () => ({ ok: true, trimmedMessages: 30, keptMessages: 5, archivedTo }) });
    const { stdout } = await run(["session", "compact", "--keep", "5"]);
    expect(stdout).toBe(`agent:main:main: kept 5 messages, archived 30\narchive: ${archivedTo}\n`);
    expect(lastParams()).toEqual({ sessionKey: "agent:main:main", keepMessages: 5 });
    expect((await run(["session", "compact", "--keep", "none"])).code).toBe(2);
  });
});
