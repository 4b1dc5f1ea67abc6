import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import { mergeConfiguration } from "../../shared/configuration/store.ts";
import { type Inbound, routeInbound } from "../../shared/session/key/routing.ts";
import {
  buildAgentSessionKey,
  type DmScope,
  isMainSessionKey,
  type KeyParts,
  type KeyRules,
  mainSessionKey,
} from "../../shared/session/key/session-key.ts";
import { message, nextDay, ResetBench, reset } from "../agent/reset-bench.ts";
import { isReading } from "../support/models/model-window.ts";

/**
 * session-routing.md, row by row. "Key Components", "Canonicalization" and "Session Key Parsing" are in
 * test/session/session-key.test.ts, "Identity Links" in test/session/identity.test.ts, "Auto-Reset Policies" in
 * test/session/reset-policy.test.ts and test/e2e/reset.test.ts, "Reset Behavior" step by step in test/agent/reset.test.ts, "Compaction" in
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
    expect(sessionOf({ peer: { kind: "dm", id: "1" } }, { mainKey: "home" })).toBe("agent:main:home");
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
    "Main Session Detection: loads MEMORY.md and is named in the runtime section: %s",
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
