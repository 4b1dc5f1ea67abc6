import { describe, expect, it } from "vitest";
import { keyPart } from "../../shared/session/key/key-part.ts";
import {
  agentIdOf,
  buildAgentSessionKey,
  canonicalizeSessionKey,
  cronSessionKey,
  type DmScope,
  isMainSessionKey,
  type KeyParts,
  type KeyRules,
  normalizeAccountId,
  normalizeAgentId,
  normalizeChannel,
  normalizeMainKey,
  normalizePeerKind,
  parseSessionKey,
  sessionKind,
} from "../../shared/session/key/session-key.ts";
import { type Random, seededRandom } from "../support/random.ts";

const scopes = ["main", "per-peer", "per-channel-peer", "per-account-channel-peer"] as const;
const rules = (more: Partial<KeyRules> = {}): KeyRules => ({ mainKey: "main", dmScope: "main", ...more });
const steve: KeyParts = {
  agentId: "main",
  channel: "whatsapp",
  accountId: "work",
  peer: { kind: "dm", id: "31628552611@s.whatsapp.net" },
};

describe("normalization", () => {
  it.each([
    ["Work", "work"],
    ["  My Agent! ", "my-agent"],
    ["--a--", "a"],
    ["../../etc", "etc"],
    ["", "main"],
    ["!!!", "main"],
    ["_a", "main"],
    ["x".repeat(65), "x".repeat(64)],
    [`${"x".repeat(63)}-y`, "x".repeat(63)],
  ])("of the agent id %j gives %j", (id, expected) => {
    expect(normalizeAgentId(id)).toBe(expected);
  });

  it("of a channel and a peer's kind replaces all characters but a-z 0-9 + - _ @ .", () => {
    expect(normalizeChannel(" WhatsApp ")).toBe("whatsapp");
    expect(normalizeChannel("my channel/2:+-_@.")).toBe("my_channel_2_+-_@.");
    expect(normalizeChannel("")).toBe("unknown");
    expect(normalizePeerKind("Group Chat")).toBe("group_chat");
    expect([normalizePeerKind(""), normalizePeerKind("DM")]).toEqual(["dm", "dm"]);
  });

  it("of a peer's id appends a hash when more than letter case changes", () => {
    expect(keyPart("31628552611@S.WhatsApp.net")).toBe("31628552611@s.whatsapp.net");
    expect(keyPart("")).toBe("");
    expect(keyPart("+31 6:2@S.WhatsApp.net")).toMatch(/^\+31_6_2@s\.whatsapp\.net-[0-9a-f]{24}$/);
    expect(keyPart("a🧾b")).toMatch(/^a_b-[0-9a-f]{24}$/);
    expect(keyPart("  ")).toMatch(/^unknown-[0-9a-f]{24}$/);
  });

  it("of the main key gives main when empty", () => {
    expect(normalizeMainKey(" Home ")).toBe("home");
    expect(normalizeMainKey("")).toBe("main");
    expect(normalizeMainKey("a:b")).toBe("a_b");
  });
});

describe("building a key", () => {
  it("uses the configured main key, and defaults for missing parts", () => {
    expect(buildAgentSessionKey({ ...steve, mainKey: "Home" })).toBe("agent:main:home");
    const nothing = { agentId: "", peer: { kind: "", id: "" } };
    expect(buildAgentSessionKey(nothing)).toBe("agent:main:main");
    expect(buildAgentSessionKey({ ...nothing, dmScope: "per-account-channel-peer" })).toBe(
      "agent:main:unknown:default:dm:unknown",
    );
  });

  it("keeps a key within 200 bytes, and keys of different long ids different", () => {
    const long = (end: string) =>
      buildAgentSessionKey({
        agentId: "a".repeat(100),
        channel: "c".repeat(100),
        accountId: "b".repeat(100),
        peer: { kind: "dm", id: `${"p".repeat(1000)}${end}` },
        dmScope: "per-account-channel-peer",
      });
    expect(Buffer.byteLength(long("1"))).toBe(200);
    expect(long("1")).not.toBe(long("2"));
    const group = (id: string) => buildAgentSessionKey({ ...steve, peer: { kind: "group", id } });
    expect(group("g".repeat(170))).toBe(`agent:main:whatsapp:group:${"g".repeat(170)}`);
    expect(group("g".repeat(175))).toMatch(/^agent:main:whatsapp:group:g{149}-[0-9a-f]{24}$/);
  });
});

it("names the session of a scheduled job by its agent and id, like a client", () => {
  const key = cronSessionKey("Main", "6f1c2a9e-77d1-4d0a-9a53-0d4a2f0c9f11");
  expect(key).toBe("agent:main:cron:6f1c2a9e-77d1-4d0a-9a53-0d4a2f0c9f11");
  expect(canonicalizeSessionKey(key, rules({ dmScope: "per-account-channel-peer" }))).toBe(key);
  expect(sessionKind(key, rules())).toBe("cron");
});

describe("parsing a key", () => {
  it.each([
    ["agent:main:dm:+31", { agentId: "main", peer: { kind: "dm", id: "+31" } }],
    ["agent:main:whatsapp:dm:+31", { agentId: "main", channel: "whatsapp", peer: { kind: "dm", id: "+31" } }],
    [
      "agent:main:whatsapp:work:dm:+31",
      { agentId: "main", channel: "whatsapp", accountId: "work", peer: { kind: "dm", id: "+31" } },
    ],
    ["agent:main:slack:group:a:b", { agentId: "main", channel: "slack", peer: { kind: "group", id: "a:b" } }],
    ["agent:main:slack:group:dm", { agentId: "main", channel: "slack", peer: { kind: "group", id: "dm" } }],
    ["agent:main:group:g1", { agentId: "main", peer: { kind: "group", id: "g1" } }],
  ])("splits %s", (key, expected) => {
    expect(parseSessionKey(key)).toEqual(expected);
  });

  it.each(["", "main", "agent", "agent:main", "agent:main:main", "user:main:dm:x", "Agent:main:dm:x"])(
    "gives null for %j",
    (key) => {
      expect(parseSessionKey(key)).toBeNull();
    },
  );
});

describe("canonicalizing a key", () => {
  it.each([
    ["main", "agent:main:home"],
    ["home", "agent:main:home"],
    [" HOME ", "agent:main:home"],
    ["", "agent:main:home"],
    ["agent:main:main", "agent:main:home"],
    ["agent:Work:Home", "agent:work:home"],
    ["agent:main:whatsapp:dm:+31", "agent:main:home"],
    ["agent:main:whatsapp:work:dm:+31", "agent:main:home"],
    ["work", "agent:main:work"],
    ["My Project: one", "agent:main:my_project__one-4e19ceb1df9efdcc89ecbf60"],
    ["agent:main:side", "agent:main:side"],
    ["agent", "agent:main:agent"],
    ["agent:main:discord:thread:a:b", "agent:main:discord:thread:a_b-6783a31eabf68ccc0660f935"],
    ["agent:main:discord:thread:11/22", "agent:main:discord:thread:11_22"],
    ["agent:main:group:g1", "agent:main:unknown:group:g1"],
    ["agent:Work:heartbeat:system:internal", "agent:work:heartbeat:system:internal"],
  ])("of %j gives %s where the main key is home and dmScope main", (key, expected) => {
    expect(canonicalizeSessionKey(key, rules({ mainKey: "home" }))).toBe(expected);
  });

  it("assigns names without an agent to the default agent", () => {
    expect(canonicalizeSessionKey("main", rules({ defaultAgentId: "Work" }))).toBe("agent:work:main");
    expect(canonicalizeSessionKey("notes", rules({ defaultAgentId: "work" }))).toBe("agent:work:notes");
    expect(canonicalizeSessionKey("agent:main:main", rules({ defaultAgentId: "work" }))).toBe(
      "agent:main:main",
    );
  });
});

describe("the kind of a session", () => {
  const separate = rules({ dmScope: "per-peer", mainKey: "home" });
  it.each([
    ["main", "main"],
    ["home", "main"],
    ["agent:work:main", "main"],
    ["agent:main:dm:+31", "dm"],
    ["agent:main:slack:channel:C1", "channel"],
    ["agent:main:slack:group:main", "group"],
    ["notes", "named"],
    ["agent:main:notes", "named"],
  ])("of %s is %s where each peer has a session", (key, expected) => {
    expect(sessionKind(key, separate)).toBe(expected);
    expect(isMainSessionKey(key, separate)).toBe(expected === "main");
  });

  it("of a direct message is main when all of them share the main session, and of a group never", () => {
    expect(isMainSessionKey("agent:main:slack:dm:U1", rules())).toBe(true);
    expect(isMainSessionKey("agent:main:slack:group:U1", rules())).toBe(false);
  });
});

const wordPieces = ["a", "b7", "work", "+", "-", "_", "@", ".", "31628552611", "dm", "main", "x".repeat(40)];
const anyPieces = [
  ...wordPieces,
  ..." |agent|agent:|:dm:|DM|É|İ|🧾|\ud800|/|..|\n|\u0000".split("|"),
  ":",
  "::",
];

function randomRules(random: Random): KeyRules {
  return {
    mainKey: random.pick(["main", "home", "", "dm", "A:B", random.text(anyPieces, 6)]),
    dmScope: random.pick<DmScope>(scopes),
    defaultAgentId: random.pick([undefined, "work", "", random.text(anyPieces, 4)]),
  };
}

function randomParts(random: Random, pieces: readonly string[]): KeyParts {
  return {
    agentId: random.text(pieces, 4),
    channel: random.pick([undefined, "dm", "slack", random.text(pieces, 4)]),
    accountId: random.pick([undefined, "dm", "default", random.text(pieces, 4)]),
    peer: { kind: random.pick(["dm", "group", random.text(pieces, 3)]), id: random.text(pieces, 12) },
  };
}

describe("for any of 5,000 inputs", () => {
  const canonicalForm = /^agent:[a-z0-9][a-z0-9_-]*(:[a-z0-9+\-_@.]+){1,4}$/;

  it("canonicalizing does not throw, gives a key of at most 200 bytes, and is idempotent", () => {
    const random = seededRandom(1);
    const wrong: object[] = [];
    for (let i = 0; i < 5000; i++) {
      const own = randomRules(random);
      const key =
        random.pick(["", "agent:", "agent:main:", "agent:main:slack:"]) + random.text(anyPieces, 14);
      const once = canonicalizeSessionKey(key, own);
      const isCanonical = canonicalForm.test(once) && Buffer.byteLength(once) <= 200;
      const isStable = canonicalizeSessionKey(once, own) === once;
      const isSameKind = sessionKind(key, own) === sessionKind(once, own);
      const isSameAgent = agentIdOf(once) === once.split(":")[1];
      if (!isCanonical || !isStable || !isSameKind || !isSameAgent) wrong.push({ key, own, once });
    }
    expect(wrong).toEqual([]);
  });

  it("a built key is canonical", () => {
    const random = seededRandom(2);
    const wrong: object[] = [];
    for (let i = 0; i < 5000; i++) {
      const { mainKey, dmScope } = randomRules(random);
      const parts = randomParts(random, anyPieces);
      const key = buildAgentSessionKey({ ...parts, mainKey, dmScope });
      const isStable = canonicalizeSessionKey(key, { mainKey, dmScope }) === key;
      if (!canonicalForm.test(key) || !isStable) wrong.push({ parts, dmScope, key });
    }
    expect(wrong).toEqual([]);
  });

  it("building and parsing returns the parts that survive normalization", () => {
    const random = seededRandom(3);
    let compared = 0;
    for (let i = 0; i < 5000; i++) {
      const any = randomParts(random, wordPieces);
      const parts = {
        agentId: normalizeAgentId(any.agentId),
        channel: normalizeChannel(any.channel),
        accountId: normalizeAccountId(any.accountId),
        peer: { kind: normalizePeerKind(any.peer.kind), id: keyPart(any.peer.id) },
      };
      const key = buildAgentSessionKey({ ...parts, dmScope: "per-account-channel-peer" });
      if (!key.endsWith(`:${parts.peer.id}`)) continue;
      const { accountId, ...shared } = parts;
      expect(parseSessionKey(key)).toEqual(parts.peer.kind === "dm" ? parts : shared);
      expect(accountId).not.toBe("");
      compared++;
    }
    expect(compared).toBeGreaterThan(4000);
  });
});
