import { beforeEach, describe, expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import type { Configuration } from "../../shared/configuration/schema.ts";
import { secretMarker } from "../../shared/configuration/secret.ts";
import { contextText, percentText } from "../../shared/session/commands/context-command.ts";
import { spendingText } from "../../shared/session/commands/cost-command.ts";
import { parseDirectives } from "../../shared/session/commands/directives.ts";
import { effectiveChoice, effectiveModel, missingFor } from "../../shared/session/commands/model-choice.ts";
import { parseCommand } from "../../shared/session/commands/parse-command.ts";
import type { Writer } from "../../shared/session/inbox-entry.ts";
import { type Incoming, type Intake, submitMessage } from "../../shared/session/intake.ts";
import { acquire, commit, commitEntry } from "../../shared/session/lease.ts";
import { newRun } from "../../shared/session/run.ts";
import { patchSession, readSession } from "../../shared/session/sessions.ts";
import { nothingSpent } from "../../shared/session/spending.ts";
import { assign } from "../../shared/session/state.ts";
import type { Table, WakeAgent } from "../../shared/world/world.ts";

const main = "agent:main:main";
const guestKey = "agent:main:slack:guest:u1";
const guest: Writer = { role: "guest", senderId: "u1" };
const current = { provider: "p", id: "m" };

let table: Table;
let configuration: Configuration;
let woken: Parameters<WakeAgent>[];
let ids: number;
beforeEach(() => {
  table = createMemoryTable();
  configuration = { ...structuredClone(defaults), model: { ...current } };
  woken = [];
  ids = 0;
});

const intake = (): Intake => ({
  ...{ table, now: () => 1000 },
  wake: async (...call) => void woken.push(call),
  configuration: { load: async () => configuration },
});
const submit = (text: string, more: Partial<Incoming> = {}, sessionKey = main) =>
  submitMessage(intake(), sessionKey, {
    ...{ id: `c${++ids}`, text, origin: { kind: "client", connectionId: "x", requestId: "r" }, writer: {} },
    ...more,
  });
const answer = async (text: string, writer: Writer = {}, sessionKey = main) => {
  const { response, error } = (await submit(text, { writer }, sessionKey)) as {
    response?: string;
    error?: string;
  };
  return response ?? error;
};
const settings = async () => (await readSession(table, main))?.settings;
const inbox = async () => (await readSession(table, main))?.inbox ?? [];

describe("a command", () => {
  it.each([
    ["/new", "reset", ""],
    [" /RESET  now \n", "reset", "now"],
    ["/compact 1\n2", "compact", "1\n2"],
  ])("%j is %s with the argument %j", (text, name, argument) => {
    expect(parseCommand(text)).toEqual({ name, argument });
  });

  it.each(["", "new", "//new", "/new5", "/n ew", "see /new", "/constructor", "/new/", "/ new"])(
    "is not recognized in %j",
    (text) => {
      expect(parseCommand(text)).toBeUndefined();
    },
  );

  it.each([
    ["/compact", { kind: "compact", keep: 20 }],
    ["/Compact 5", { kind: "compact", keep: 5 }],
    ["/new", { kind: "reset" }],
  ])("%j is executed by the agent, after earlier entries, and answers its request", async (text, entry) => {
    expect(await submit(text, { configurationVersion: 7 })).toEqual({ status: "deferred" });
    const origin = { kind: "client", connectionId: "x", requestId: "r" };
    expect(await inbox()).toEqual([
      { id: "c1", at: 1000, configurationVersion: 7, origin, via: "command", ...entry },
    ]);
    expect(woken).toEqual([[main, 7]]);
  });

  it.each(["all", "0", "-3", "2.5", "5 now", "1e3", "1234567"])(
    "/compact refuses %s at once",
    async (count) => {
      expect(await submit(`/compact ${count}`)).toEqual({
        ...{ status: "command", command: "compact", error: "Invalid count. Usage: /compact [N]" },
      });
    },
  );

  it("/think shows and sets the level", async () => {
    expect(await answer("/think")).toBe("Thinking level: off");
    expect(await answer("/think huge")).toMatch(/^Invalid level: huge\. Use off, .*xhigh or 0–5\.$/);
    expect(await settings()).toBeUndefined();
    expect(await answer("/t 4")).toBe("Thinking level set to high");
    expect([await answer("/think"), await settings()]).toEqual([
      "Thinking level: high",
      { thinkingLevel: "high" },
    ]);
  });

  it("/model shows and sets the model, and says what it still needs", async () => {
    expect(await answer("/model")).toBe("Model: p/m");
    expect(await answer("/model a b")).toBe("Invalid model selector: a b");
    expect(await settings()).toBeUndefined();
    configuration.apiKeys = { p: secretMarker };
    expect(await answer("/model n")).toBe("Model set to p/n");
    expect([await answer("/model"), await settings()]).toEqual([
      "Model: p/n",
      { model: { provider: "p", id: "n" } },
    ]);
    expect(await answer("/model q/r/s")).toBe(
      "Model set to q/r/s\nIt cannot be used yet: no key for q: gsv config set apiKeys.q -",
    );
  });

  it("/status shows the session: its model, thinking level and time of reset", async () => {
    const before = [`Session: ${main}`, "Messages: 0", "Tokens: 0 in / 0 out", "Model: p/m"];
    expect(await answer("/status")).toBe([...before, "Reset: daily at 04:00"].join("\n"));
    const reset = async (resetPolicy: object) => {
      await patchSession(table, main, { resetPolicy: resetPolicy as { mode: "manual" } }, 1);
      return (await answer("/status"))?.split("\n").at(-1);
    };
    await patchSession(table, main, { settings: { thinkingLevel: "low" } }, 1);
    expect(await answer("/status")).toBe([...before, "Thinking: low", "Reset: daily at 04:00"].join("\n"));
    expect(await reset({ mode: "daily", atHour: 17 })).toBe("Reset: daily at 17:00");
    expect(await reset({ mode: "daily" })).toBe("Reset: daily at 04:00");
    expect(await reset({ mode: "idle", idleMinutes: 5 })).toBe("Reset: after 5 idle minutes");
    expect(await reset({ mode: "idle" })).toBe("Reset: after 60 idle minutes");
    expect(await reset({ mode: "manual" })).toBe("Reset: manual");
    const { lease } = (await acquire(table, main, "agent", 1000))!;
    await commit(table, lease, [assign("tokens", { input: 12, output: 3, total: 15 }), assign("head", 4)]);
    expect(await answer("/status")).toContain("Messages: 4\nTokens: 12 in / 3 out\n");
  });

  it("/stop stops the run, the only one or the named one, and says what it cancelled", async () => {
    const runId = "0a1b2c3d-0000-4000-8000-00000000000A";
    expect(await answer("/stop")).toBe("No run in progress.");
    await submit("go", { id: runId });
    woken = [];
    expect(await answer("/stop 0a1b2c3d-0000-4000-8000-00000000000b")).toBe(
      "Run 0a1b2c3d-0000-4000-8000-00000000000b is not in progress.",
    );
    expect(woken).toEqual([]);
    expect(await answer("/stop it now")).toBe(`Stopped run ${runId}.`);
    expect(woken).toEqual([[main]]);
    const message = (await inbox())[0]!;
    const { lease } = (await acquire(table, main, "agent", 1000))!;
    await commitEntry(table, lease, message, [
      assign("run", { ...newRun(message as never, 1, 1), phase: "tools", pendingCount: 2 } as never),
    ]);
    expect(await answer("/stop")).toBe(`Stopped run ${runId}, cancelled 2 pending tool(s).`);
    expect(woken).toHaveLength(1);
    expect(await answer("/stop", guest)).toMatch(/not to your message; only its writer or an owner/);
  });

  it("/help lists every command, to guests only theirs", async () => {
    expect(await answer("/help")).toMatch(
      /^Commands:\n\/new, \/reset – archive.*\n\/private – .*\n\/compact \[N\] – /,
    );
    expect((await answer("/help"))?.split("\n")).toHaveLength(13);
    const ofGuests = [/^Commands:\n\/stop – /, /^Commands:\n\/new, \/reset – .*\n\/stop – /];
    for (const [i, key] of [main, guestKey].entries())
      expect(await answer("/?", guest, key)).toMatch(ofGuests[i]!);
  });

  it("a guest may reset only their own conversation, and choose nothing", async () => {
    expect(await submit("/new", { writer: guest }, guestKey)).toEqual({ status: "deferred" });
    expect(await answer("/new", guest)).toMatch(/^Only an owner .* that others share\.$/);
    for (const name of ["private", "compact", "context", "cost", "model", "think"])
      expect(await answer(`/${name}`, guest, guestKey)).toBe(
        `Only the owner of this agent may use /${name}.`,
      );
    expect(await answer("/status", guest)).toContain("Session:");
    for (const text of ["hi /think:high", "hi /m:a"])
      expect(await submit(text, { writer: guest })).toMatchObject({
        ...{ status: "directive-only", response: expect.stringContaining("write again without") },
      });
    expect(await submit("hi /status", { writer: guest })).toMatchObject({ status: "started" });
  });
});

describe("a directive", () => {
  it.each([
    ["hi /think:high there", "hi there", { thinkingLevel: "high" }],
    ["a\n/m:q/r \nb", "a\n\nb", { model: { provider: "q", id: "r" } }],
    ["a /model:n\tb /t:1", "a b", { model: { provider: "p", id: "n" }, thinkingLevel: "minimal" }],
    ["a /status", "a", {}],
  ])("in %j is removed", (message, text, overrides) => {
    const status = message.includes("status");
    expect(parseDirectives(message, current)).toEqual({ text, overrides, status });
  });

  it.each(["/think hi ", "x/think:high", "/t:9", "/status:1", "/m:/x", "/m: x", "/thinker:1", "/t:high!"])(
    "is not recognized in %j, which stays as it is",
    (message) => {
      expect(parseDirectives(message, current)).toEqual({ text: message, overrides: {}, status: false });
    },
  );

  it("applies to its message alone, and is reported with it", async () => {
    const directives = { model: { provider: "p", id: "n" }, thinkLevel: "low", status: true };
    expect(await submit("go /m:n /t:2 /status", { envelope: "[from Ann]" })).toEqual({
      ...{ status: "started", runId: "c1", directives },
      response: expect.stringMatching(/^Session: /),
    });
    expect(await inbox()).toEqual([
      {
        ...{ id: "c1", at: 1000, origin: { kind: "client" }, kind: "message", text: "[from Ann]\ngo" },
        overrides: { model: directives.model, thinkingLevel: "low" },
      },
    ]);
    expect(await settings()).toEqual({});
    expect(await submit("1/2")).toEqual({ status: "started", runId: "c2", queued: true });
    expect((await inbox()).at(-1)).not.toHaveProperty("overrides");
  });

  it("needs a text or an attachment", async () => {
    const alone = { status: "directive-only", directives: { thinkLevel: "low" } };
    expect(await submit("/t:2")).toEqual({ ...alone, response: expect.stringContaining("add a text") });
    expect(await submit("/t:2 /status")).toMatchObject({ response: expect.stringMatching(/^Session: /) });
    expect(await inbox()).toEqual([]);
    const attachments = [{ type: "image", source: { url: "u" } }] as const;
    expect(await submit("/t:2", { attachments })).toMatchObject({ status: "started" });
    expect((await inbox())[0]).toMatchObject({ text: "", attachments });
  });

  it.each(["", " ", "\n\t  \u00a0"])("a message of only white space (%j) starts no run", async (text) => {
    await expect(submit(text)).rejects.toMatchObject({
      code: 400,
      message: expect.stringContaining("empty"),
    });
    expect(await readSession(table, main)).toBeUndefined();
    const media = [{ type: "image", mimeType: "image/png", r2Key: "media/x", size: 1 }] as const;
    expect(await submit(text, { media })).toMatchObject({ status: "started" });
    expect((await inbox())[0]).toMatchObject({ text, media });
  });
});

describe("the model of a run", () => {
  const own = { provider: "q", id: "own", baseUrl: "http://q", maxTokens: 5 };
  beforeEach(() => {
    configuration.agents = { ...configuration.agents, list: [{ id: "bob", model: own }] as never };
  });
  const chosen = (key: string, of?: object, overrides?: object) =>
    effectiveModel(configuration, key, of as never, overrides);

  it("is that of the message, else the session, else the agent, else the gateway", () => {
    const [a, b] = [
      { provider: "x", id: "a" },
      { provider: "x", id: "b" },
    ];
    expect(chosen("agent:bob:main", { model: a }, { model: b })).toEqual(b);
    expect(chosen("agent:bob:main", { model: a })).toEqual(a);
    expect(chosen("agent:bob:main", {})).toBe(own);
    expect(chosen(main, {})).toBe(configuration.model);
    const choice = (level?: object) => effectiveChoice(configuration, main, { thinkingLevel: "low" }, level);
    expect(choice()).toEqual({ model: configuration.model, thinkingLevel: "low" });
    expect(choice({ thinkingLevel: "off" })).toMatchObject({ thinkingLevel: "off" });
    expect(effectiveChoice(configuration, main, {})).not.toHaveProperty("thinkingLevel");
  });

  it("has the configured limits if it is the configured one, and the address of its provider", () => {
    expect(chosen("agent:bob:main", { model: { provider: "q", id: "own" } })).toBe(own);
    expect(chosen("agent:bob:main", { model: { provider: "q", id: "other" } })).toEqual({
      ...{ provider: "q", id: "other", baseUrl: "http://q" },
    });
    expect(chosen("agent:bob:main", { model: { provider: "p", id: "own" } })).toEqual({
      ...{ provider: "p", id: "own" },
    });
  });

  it.each([
    [{ provider: "amazon-bedrock" }, undefined],
    [{ provider: "openai-compatible", baseUrl: "http://x" }, undefined],
    [{ provider: "openai-compatible" }, /^no address for openai-compatible: gsv config set model\.baseUrl/],
  ])("%j needs %s", (model, needs) => {
    const missing = missingFor(model, { apiKeys: { keyed: secretMarker } });
    if (needs) expect(missing).toMatch(needs);
    else expect(missing).toBeUndefined();
  });
});

describe("the texts of /cost and /context", () => {
  it.each([
    [{ calls: 1, input: 1234, output: 5 }, "1 call, 1,234 in, 5 out, free"],
    [
      { calls: 2, cacheRead: 10, cacheWrite: 2, unpriced: 1 },
      "2 calls, 12 in (10 from the cache), 0 out, price unknown",
    ],
    [{ calls: 2, dollars: 0.0001, unpriced: 1 }, "2 calls, 0 in, 0 out, at least $0.0001"],
    [{ calls: 2, dollars: 1 }, "2 calls, 0 in, 0 out, $1.00"],
  ])("of %j is %s", (spending, text) => {
    expect(spendingText({ ...nothingSpent, ...spending })).toBe(text);
  });

  it("show the share of the window, and when a compaction starts", () => {
    const use = { sessionKey: main, model: "p/m", messageCount: 2 };
    const last = { tokens: 1500, window: 10_000, prompt: 1000 };
    expect(contextText({ ...use, last: { ...last, compactsAt: 9000 } }).split("\n")).toEqual([
      ...["Model: p/m", "Messages: 2", "Context: 1,500 of 10,000 tokens (15%)"],
      "Of these: prompt and tools about 1,000, messages about 500",
      "Compacted above: 9,000 tokens",
    ]);
    expect(contextText({ ...use, last })).not.toContain("Compacted");
    expect([0, 0.001, 0.014, 1].map(percentText)).toEqual(["0%", "1%", "1%", "100%"]);
  });
});
