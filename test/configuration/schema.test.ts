import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import { configurationSchema, findFault } from "../../shared/configuration/schema.ts";
import { mergeConfiguration } from "../../shared/configuration/store.ts";

const faultOf = (overrides: object) => {
  const fault = findFault(mergeConfiguration(overrides as Record<string, unknown>));
  return fault && `${fault.path.join(".")}: ${fault.reason}`;
};

describe("the defaults", () => {
  it("are valid, and are what the protocol says", () => {
    expect(findFault(defaults)).toBeUndefined();
    expect(defaults).toMatchObject({
      timeouts: { llmMs: 300_000, toolMs: 60_000, skillProbeMaxAgeMs: 600_000 },
      systemPrompt: "You are a helpful AI assistant running inside GSV.",
      userTimezone: "UTC",
      session: {
        mainKey: "main",
        dmScope: "main",
        identityLinks: {},
        defaultResetPolicy: { mode: "daily", atHour: 4 },
        sendLimit: 50,
      },
      agents: {
        defaultHeartbeat: { every: "30m", target: "last", activeHours: { start: "08:00", end: "23:00" } },
      },
      compaction: { enabled: true, reserveTokens: 20_000, keepRecentTokens: 20_000, extractMemories: true },
      cron: { enabled: true, maxJobs: 200, maxRunsPerJobHistory: 200, maxConcurrentRuns: 4 },
    });
  });

  it("let no channel in", () => {
    expect(defaults.channels).toEqual({});
  });
});

describe("the owners of a channel", () => {
  it("are ids, and never everybody", () => {
    const faultWith = (owners: string[]) => faultOf({ channels: { telegram: { owners } } });
    expect(faultWith(["5001002003"])).toBeUndefined();
    for (const all of ["*", " * "])
      expect(faultWith(["1", all])).toBe(
        "channels.telegram.owners: expected ids; * would make everybody an owner",
      );
  });
});

describe("merging overrides", () => {
  it("merges objects deeply, replaces arrays and primitives, and ignores undefined", () => {
    const merged = mergeConfiguration({
      session: { dmScope: "per-peer", mainKey: undefined, identityLinks: { steve: ["+31"] } },
      agents: { list: [{ id: "work" }] },
      systemPrompt: undefined,
      userTimezone: "Europe/Berlin",
    });
    expect(merged.session).toEqual({
      ...defaults.session,
      dmScope: "per-peer",
      identityLinks: { steve: ["+31"] },
    });
    expect(merged.agents).toEqual({ ...defaults.agents, list: [{ id: "work" }] });
    expect(merged.systemPrompt).toBe(defaults.systemPrompt);
    expect(merged.userTimezone).toBe("Europe/Berlin");
  });

  it("leaves the defaults as they are, whatever becomes of the result", () => {
    const before = structuredClone(defaults);
    const merged = mergeConfiguration({ model: { id: "other" } });
    merged.agents.list.push({ id: "intruder" });
    merged.timeouts.llmMs = 1;
    expect(defaults).toEqual(before);
  });
});

describe("a whole configuration", () => {
  it("may set everything that is declared", () => {
    const fault = faultOf({
      model: {
        provider: "openai",
        id: "local",
        baseUrl: "http://127.0.0.1:11434/v1",
        contextWindow: 8000,
        maxTokens: 1,
      },
      apiKeys: { anthropic: "***" },
      auth: { token: "***" },
      channels: {
        telegram: {
          dmPolicy: "pairing",
          allowFrom: ["*"],
          accounts: {
            default: {
              enabled: true,
              botToken: "***",
              webhookSecret: "***",
              apiBaseUrl: "http://127.0.0.1:1",
            },
          },
        },
      },
      session: { defaultResetPolicy: { mode: "idle", idleMinutes: 5 } },
      skills: { entries: { "my.skill": { enabled: false, always: true, requires: { bins: ["git"] } } } },
      agents: {
        list: [
          { id: "work", default: true, model: { provider: "a", id: "b" }, heartbeat: { every: "0" } },
          { id: "home", heartbeat: { every: "2h30m", activeHours: { start: "09:00", timezone: "user" } } },
        ],
        bindings: [
          { agentId: "work", match: { channel: "slack", accountId: "a", peer: { kind: "group", id: "1" } } },
        ],
        defaultHeartbeat: { target: "telegram", activeHours: { end: "24:00", timezone: "America/New_York" } },
      },
      budgets: {
        ...{ enabled: true, warnAt: 0.5, unknownPrice: "refuse" },
        prices: { "openai-compatible/llama": { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } },
        rules: [
          { id: "talks", scope: "session", per: "session", tokens: 1_000_000, atLimit: "warn" },
          { id: "anna", scope: "sender", of: "telegram:5001", per: "month", usd: 3, atLimit: "refuse" },
        ],
      },
    });
    expect(fault).toBeUndefined();
  });

  it.each([
    [{ sesion: {} }, "sesion: unknown key"],
    [{ session: { dmscope: "main" } }, "session.dmscope: unknown key"],
    [{ session: { dmScope: "per-user" } }, /^session\.dmScope: expected \("main" \|/],
    [{ timeouts: { llmMs: "long" } }, "timeouts.llmMs: expected number"],
    [{ timeouts: { llmMs: 5 } }, "timeouts.llmMs: expected >=1000"],
    [{ cron: { maxJobs: 1.5 } }, "cron.maxJobs: expected integer"],
    [{ cron: 5 }, "cron: expected Object"],
    [{ budgets: { limit: 5 } }, "budgets.limit: unknown key"],
    [{ budgets: { unknownPrice: 5 } }, /^budgets\.unknownPrice: expected input and output/],
    [
      { budgets: { prices: { "a/b": { input: -1, output: 0 } } } },
      /^budgets\.prices\.a\/b\.input: expected dollars/,
    ],
    ...[
      [[{ usd: 1, tokens: 5 }], "either usd or tokens"],
      [[{}], "either usd or tokens"],
      [[{ usd: 1, of: "main" }], "this scope has no parts for of"],
      [[{ usd: 1, per: "session" }], "expected a period that the scope has"],
      [
        [{ usd: 1, scope: "kind", of: "beat" }],
        "expected of to be turn, guest, heartbeat, cron or maintenance",
      ],
      [[{ usd: 1 }, { usd: 2 }], "two rules have the same id"],
    ].map(
      ([rules, reason]) =>
        [
          {
            budgets: {
              rules: (rules as object[]).map((rule) => ({ id: "a", scope: "all", atLimit: "ask", ...rule })),
            },
          },
          new RegExp(`^budgets\\.rules.*${reason}`),
        ] as [object, RegExp],
    ),
    [{ agents: { list: {} } }, "agents.list: expected Array"],
    [{ agents: { list: [{ default: true }] } }, "agents.list.0.id: missing"],
    [{ agents: { list: [{ id: "No Good" }] } }, /^agents\.list\.0\.id: expected a name of/],
    [
      { agents: { defaultHeartbeat: { every: "often" } } },
      /^agents\.defaultHeartbeat\.every: expected a duration/,
    ],
    [
      { agents: { defaultHeartbeat: { every: "30m2h" } } },
      /^agents\.defaultHeartbeat\.every: expected a duration such as 30m or 2h30m/,
    ],
    [
      { agents: { defaultHeartbeat: { activeHours: { timezone: "mine" } } } },
      /^agents\.defaultHeartbeat\.activeHours\.timezone: expected user, or an IANA timezone/,
    ],
    [{ userTimezone: "Mars/Olympus" }, /^userTimezone: expected an IANA timezone/],
    [{ model: { baseUrl: "file:///etc/passwd" } }, /^model\.baseUrl: expected an http/],
    [{ model: { baseUrl: "https://user:pass@host/" } }, /^model\.baseUrl: expected an http/],
    [{ apiKeys: { "My.Provider": "x" } }, /^apiKeys\.My\.Provider: expected a name of/],
    [{ apiKeys: { anthropic: "" } }, /^apiKeys\.anthropic: expected a secret that is not empty/],
    [{ apiKeys: { anthropic: "x".repeat(4097) } }, /^apiKeys\.anthropic: expected a secret of at most 4096/],
    [
      { channels: { telegram: { accounts: { "../x": {} } } } },
      /^channels\.telegram\.accounts\.\.\.\/x: expected/,
    ],
  ])("that is wrong, %j, is refused with its path and the reason", (overrides, expected) => {
    expect(faultOf(overrides)).toEqual(
      typeof expected === "string" ? expected : expect.stringMatching(expected),
    );
  });

  it("that is wrong is refused without repeating a value, which may be a secret in the wrong place", () => {
    const secret = "sk-very-secret";
    const misplaced = [
      { apiKeys: secret },
      { auth: secret },
      { auth: [secret] },
      { cron: { maxJobs: secret } },
      { session: { dmScope: secret } },
      { userTimezone: secret },
      { model: { baseUrl: `${secret}://x` } },
      { channels: { telegram: { dmPolicy: secret, accounts: secret } } },
      { agents: { defaultHeartbeat: { every: secret } } },
      { apiKeys: { anthropic: `${secret}${"x".repeat(5000)}` } },
    ];
    for (const overrides of misplaced) {
      expect(faultOf(overrides)).toBeDefined();
      expect(faultOf(overrides)).not.toContain(secret);
    }
  });
});

describe("a setting that is declared", () => {
  /**
   * Settings that are accepted ahead of the feature that will read them. An entry goes when its feature comes; there is
   * no reason to add one. Each has the text by which code that reads it is recognised.
   */
  const acceptedAhead = new Map([["auth.token", /(?<!\})\.auth\.token/]]);

  const code = deployedCode();
  const isAhead = (setting: string) =>
    [...acceptedAhead.keys()].some((ahead) => setting === ahead || setting.startsWith(`${ahead}.`));

  it("is read by a function, or is one of those accepted ahead of their feature", () => {
    const settings = settingsOf(configurationSchema, []);
    expect(settings.length).toBeGreaterThan(60);
    const unread = settings.filter((setting) => {
      const name = setting.split(".").at(-1) ?? "";
      return !isAhead(setting) && !new RegExp(`[.?{ \\["]${name}\\b`).test(code);
    });
    expect(unread).toEqual([]);
  });

  it.each([...acceptedAhead])("%s is accepted, and read by no function so far", (setting, reading) => {
    const settings = settingsOf(configurationSchema, []);
    expect(settings.some((name) => name === setting || name.startsWith(`${setting}.`))).toBe(true);
    expect(code).not.toMatch(reading);
  });
});

/** The text of the functions and of what they share, without the declaration of the settings. */
function deployedCode(): string {
  const files = ["functions", "shared"].flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: "utf8" }).map((file) => join(room, file)),
  );
  const isDeclaration = (file: string) => /shared\/configuration\/(schema|defaults)\.ts$/.test(file);
  return files
    .filter((file) => file.endsWith(".ts") && !isDeclaration(file))
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");
}

interface SchemaParts {
  entries?: Record<string, object>;
  wrapped?: object;
  item?: object;
  value?: object;
  type: string;
}

/** The paths of all settings that a schema declares; those of a list or a record without its index or name. */
function settingsOf(schema: object, path: string[]): string[] {
  const { entries, wrapped, item, value, type } = schema as SchemaParts;
  if (entries) return Object.entries(entries).flatMap(([name, part]) => settingsOf(part, [...path, name]));
  if (wrapped) return settingsOf(wrapped, path);
  if (type === "array" && item) return settingsOf(item, path);
  if (type === "record" && value) return settingsOf(value, path);
  return [path.join(".")];
}
