import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import { mergeConfiguration } from "../../shared/configuration/store.ts";
import { type Inbound, routeInbound } from "../../shared/session/key/routing.ts";
import {
  buildAgentSessionKey,
  canonicalizeSessionKey,
  type DmScope,
  isMainSessionKey,
  type KeyParts,
  type KeyRules,
  mainSessionKey,
  parseSessionKey,
} from "../../shared/session/key/session-key.ts";
import { message, nextDay, ResetBench, reset } from "../agent/reset-bench.ts";
import { isReading } from "../support/models/model-window.ts";

/**
 * session-routing.md, row by row. "Auto-Reset Policies" are in test/session/reset-policy.test.ts and
 * test/e2e/reset.test.ts, "Reset Behavior" step by step in test/agent/reset.test.ts, "Compaction" in
 * test/agent/compaction/compaction.test.ts.
 */
const scopes = ["main", "per-peer", "per-channel-peer", "per-account-channel-peer"] as const;
const dm = (id: string, more: Partial<KeyParts> = {}): KeyParts => ({
  agentId: "main",
  channel: "whatsapp",
  accountId: "work",
  peer: { kind: "dm", id },
  ...more,
});
const build = buildAgentSessionKey;
const rules = (more: Partial<KeyRules> = {}): KeyRules => ({ mainKey: "main", dmScope: "main", ...more });

/** The session of an inbound message under a configuration's `session`. */
function sessionOf(inbound: Partial<Inbound> & { peer: Inbound["peer"] }, session: object = {}): string {
  return routeInbound({ channel: "whatsapp", ...inbound }, mergeConfiguration({ session }), "owner")
    .sessionKey;
}

describe("session-routing.md, Session Key Format", () => {
  it("Main Session Key: agent:{agentId}:{mainKey}, by default agent:main:main", () => {
    expect(mainSessionKey("work", "home")).toBe("agent:work:home");
    expect(sessionOf({ peer: { kind: "dm", id: "1" } })).toBe("agent:main:main");
  });

  it.each([
    ["main", "agent:main:home"],
    ["per-peer", "agent:main:dm:+31"],
    ["per-channel-peer", "agent:main:whatsapp:dm:+31"],
    ["per-account-channel-peer", "agent:main:whatsapp:work:dm:+31"],
  ] as const)("DM Session Keys: %s", (dmScope, expected) => {
    expect(build({ ...dm("+31"), dmScope, mainKey: "home" })).toBe(expected);
  });

  it.each(scopes)("Non-DM Session Keys: agent:{agentId}:{channel}:{peerKind}:{peerId} in %s", (dmScope) => {
    const group = dm("", { peer: { kind: "group", id: "123@g.us" } });
    expect(build({ ...group, dmScope })).toBe("agent:main:whatsapp:group:123@g.us");
  });
});

describe("session-routing.md, Key Components", () => {
  /** What a key holds of one component, where the others are plain. */
  const all = (parts: object) =>
    build({ ...dm("p", { channel: "c", accountId: "a" }), ...parts, dmScope: "per-account-channel-peer" });
  const agentId = (id: string) => all({ agentId: id }).split(":")[1];
  const channel = (name: string | undefined) => all({ channel: name }).split(":")[2];
  const accountId = (id: string | undefined) => all({ accountId: id }).split(":")[3];
  const peerKind = (kind: string) => all({ peer: { kind, id: "p" } }).split(":")[3];
  const peerId = (id: string) => all({ peer: { kind: "dm", id } }).split(":")[5];
  const mainKey = (name: string) => build({ ...dm("p"), mainKey: name }).split(":")[2];
  const idRows: [string, string][] = [
    ["A_b-9", "a_b-9"],
    ["My Agent!", "my-agent"],
    ["--x--", "x"],
    ["x".repeat(65), "x".repeat(64)],
  ];

  it.each([...idRows, ["", "main"], ["!!!", "main"], ["_x", "main"]])(
    "agentId: lower case, at most 64 of [a-z0-9][a-z0-9_-]*, `-` for others, none at the ends, else main: %j",
    (id, expected) => expect(agentId(id)).toBe(expected),
  );

  it.each([
    ["WhatsApp", "whatsapp"],
    ["a b/c:d", "a_b_c_d"],
    ["a+b-c_d@e.f", "a+b-c_d@e.f"],
    ["", "unknown"],
    [undefined, "unknown"],
  ])("channel: lower case, `_` for what is not [a-z0-9+-_@.], else unknown: %j", (name, expected) =>
    expect(channel(name)).toBe(expected),
  );

  it.each(["cli", "whatsapp", "discord"])("channel, common value: %s", (name) => {
    const key = build({ ...dm("1", { channel: name }), dmScope: "per-channel-peer" });
    expect(key).toBe(`agent:main:${name}:dm:1`);
    expect(canonicalizeSessionKey(key, rules({ dmScope: "per-channel-peer" }))).toBe(key);
  });

  it.each([...idRows, ["", "default"], ["!!!", "default"], [undefined, "default"]])(
    "accountId: the same rules, else default: %j",
    (id, expected) => expect(accountId(id)).toBe(expected),
  );

  it("accountId: used in per-account-channel-peer only", () => {
    for (const dmScope of scopes.slice(0, 3))
      expect(build({ ...dm("1", { accountId: "other" }), dmScope })).toBe(build({ ...dm("1"), dmScope }));
  });

  it("peerKind: lower case, `_` for invalid characters, dm by default; dm alone follows dmScope", () => {
    expect(peerKind("Group Chat")).toBe("group_chat");
    expect(build(dm("1", { peer: { kind: "", id: "1" } }))).toBe("agent:main:main");
    expect(build(dm("1", { peer: { kind: "DM", id: "1" } }))).toBe("agent:main:main");
  });

  it.each([
    ["31628552611@S.whatsapp.net", "31628552611@s.whatsapp.net"],
    ["", "unknown"],
  ])("peerId: lower case, unknown by default: %j", (id, expected) => expect(peerId(id)).toBe(expected));

  it("peerId: `_` for invalid characters, and then a hash, so that different peers have different sessions", () => {
    expect(peerId("a b:c")).toMatch(/^a_b_c-[0-9a-f]{24}$/);
  });

  it("mainKey: lower case, main when empty, configured at session.mainKey", () => {
    expect(mainKey("Home")).toBe("home");
    expect(mainKey("")).toBe("main");
    expect(sessionOf({ peer: { kind: "dm", id: "1" } }, { mainKey: "home" })).toBe("agent:main:home");
    const group = { peer: { kind: "group", id: "g" } };
    expect(sessionOf(group, { mainKey: "home" })).toBe(sessionOf(group));
  });
});

describe("session-routing.md, Identity Links", () => {
  const identityLinks = { steve: ["+31628552611", "telegram:123456789", "whatsapp:+34675706329"] };
  const of = (channel: string, id: string) =>
    sessionOf({ channel, peer: { kind: "dm", id } }, { dmScope: "per-peer", identityLinks });

  it("Plain (no prefix): matched against any channel after E.164 normalization", () => {
    expect(of("whatsapp", "31628552611@s.whatsapp.net")).toBe("agent:main:dm:steve");
    expect(of("signal", "+31 6 28552611")).toBe("agent:main:dm:steve");
  });

  it("Channel-prefixed: matched only when the channel name matches", () => {
    expect(of("whatsapp", "34675706329:2@s.whatsapp.net")).toBe("agent:main:dm:steve");
    expect(of("signal", "+34675706329")).toBe("agent:main:dm:+34675706329");
    expect(of("telegram", "123456789")).toBe("agent:main:dm:steve");
  });
});

describe("session-routing.md, dmScope Modes", () => {
  const identityLinks = { steve: ["whatsapp:+31628552611", "discord:42"] };
  const places = [
    { channel: "whatsapp", accountId: "one", peer: { kind: "dm", id: "31628552611@s.whatsapp.net" } },
    { channel: "whatsapp", accountId: "two", peer: { kind: "dm", id: "31628552611@s.whatsapp.net" } },
    { channel: "discord", accountId: "one", peer: { kind: "dm", id: "42" } },
    { channel: "discord", accountId: "one", peer: { kind: "dm", id: "43" } },
  ];

  it.each<[DmScope, sessions: number, useCase: string]>([
    ["main", 1, "all DMs from all channels and peers in a single session"],
    ["per-peer", 2, "the same person on WhatsApp and Discord shares one, with identity links"],
    ["per-channel-peer", 3, "the same person on different channels has separate ones"],
    ["per-account-channel-peer", 4, "bot accounts on one channel are separate"],
  ])("%s: %i session(s) of 4 places; %s", (dmScope, count) => {
    const keys = places.map((place) => sessionOf(place, { dmScope, identityLinks }));
    expect(new Set(keys).size).toBe(count);
  });

  it("Default: main", () => expect(defaults.session.dmScope).toBe("main"));
});

describe("session-routing.md, Canonicalization", () => {
  it("dmScope collapsing", () => {
    expect(canonicalizeSessionKey("agent:main:whatsapp:dm:+31", rules())).toBe("agent:main:main");
  });

  it("mainKey aliasing: main and the configured mainKey are the same key", () => {
    for (const key of ["agent:main:main", "agent:main:home", "main", "home"])
      expect(canonicalizeSessionKey(key, rules({ mainKey: "home" }))).toBe("agent:main:home");
  });

  it("Identifier normalization", () => {
    const key = canonicalizeSessionKey("agent:Work:Slack:Group:A b", rules());
    expect(key).toMatch(/^agent:work:slack:group:a_b-[0-9a-f]{24}$/);
  });
});

describe("session-routing.md, Session Key Parsing", () => {
  it.each([
    ["agent:main:dm:+31", { agentId: "main", peer: { kind: "dm", id: "+31" } }],
    ["agent:main:slack:dm:a:b", { agentId: "main", channel: "slack", peer: { kind: "dm", id: "a:b" } }],
    [
      "agent:main:slack:bot:dm:U1",
      { agentId: "main", channel: "slack", accountId: "bot", peer: { kind: "dm", id: "U1" } },
    ],
  ])("segments before dm are channel and account, those after it the peer: %s", (key, expected) => {
    expect(parseSessionKey(key)).toEqual(expected);
  });

  it.each(["agent:main:main", "agent:main", "main", "user:main:dm:x"])("null for %s", (key) => {
    expect(parseSessionKey(key)).toBeNull();
  });
});

describe("session-routing.md, in a session", () => {
  const sessions = new ResetBench();
  beforeAll(() => sessions.start());
  beforeEach(() => sessions.renew());
  afterAll(() => sessions.close());
  const spoken = () => sessions.model.requests.filter((request) => !isReading(request));

  it.each([
    ["main", true],
    ["telegram:group:-7", false],
  ])(
    "Main Session Detection: loads MEMORY.md and is told in the runtime section: %s",
    async (name, isMain) => {
      const memory = `agents/${sessions.agentId}/MEMORY.md`;
      await sessions.state.bucket.put(memory, "the long-term memory");
      sessions.key = `agent:${sessions.agentId}:${name}`;
      await sessions.submit(message("hello", nextDay));
      await sessions.invoke(nextDay);
      const [{ system } = { system: "" }] = spoken();
      expect(isMainSessionKey(sessions.key, rules())).toBe(isMain);
      expect(system.includes("the long-term memory")).toBe(isMain);
      expect(system).toContain(`- Session: ${sessions.key} (${isMain ? "main" : "group"})`);
    },
  );

  it("Creation: on first message, with the routed key and a UUID v4", async () => {
    await sessions.submit(message("hello", nextDay));
    const { sessionKey, sessionId } = await sessions.current();
    expect(sessionKey).toBe(sessions.key);
    expect(sessionId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it("Active Use: messages that arrive during a run are queued and processed one after the other", async () => {
    sessions.reply = async (request) => {
      if (request.turns.length === 1) await sessions.submit(message("and this", nextDay));
      return { text: `answer ${request.turns.length}` };
    };
    await sessions.submit(message("this", nextDay));
    await sessions.invoke(nextDay);
    const said = spoken().map(({ turns }) => turns.map(({ text }) => text));
    expect(said).toEqual([["this"], ["this", "answer 1", "and this"]]);
    expect(sessions.model.peak()).toBe(1);
  });

  it("Reset: the key stays, only the sessionId changes", async () => {
    const before = await sessions.seed();
    await sessions.submit(reset("method", nextDay));
    await sessions.invoke(nextDay);
    const after = await sessions.current();
    expect([after.sessionKey, after.createdAt]).toEqual([before.sessionKey, before.createdAt]);
    expect(after.sessionId).not.toBe(before.sessionId);
  });

  it("Archival: the complete history at agents/{agentId}/sessions/{sessionId}.jsonl.gz", async () => {
    const { sessionId } = await sessions.seed();
    const said = await sessions.live();
    await sessions.submit(reset("method", nextDay));
    await sessions.invoke(nextDay);
    expect(await sessions.archived(sessionId)).toEqual(said);
  });

  it("Default Policy: new sessions inherit session.defaultResetPolicy, by default daily at 4", async () => {
    expect(defaults.session.defaultResetPolicy).toEqual({ mode: "daily", atHour: 4 });
    sessions.bench.configuration.session.defaultResetPolicy = { mode: "idle", idleMinutes: 5 };
    await sessions.submit(message("hello", nextDay));
    await sessions.invoke(nextDay);
    expect(sessions.scheduled.map(({ at }) => at)).toEqual([nextDay + 5 * 60_000 + 1]);
  });
});
