import { describe, expect, it } from "vitest";
import { checkAccess } from "../../../shared/channels/inbound/admission.ts";
import { mergeConfiguration } from "../../../shared/configuration/store.ts";
import { keyRules, routeInbound } from "../../../shared/session/key/routing.ts";
import { canonicalizeSessionKey } from "../../../shared/session/key/session-key.ts";
import { seededRandom } from "../../support/random.ts";

/**
 * Mutable identity: a user who may choose an id, or spell it differently, must not become another user (CWE-290,
 * CWE-694).
 */

/** Scopes with a session for each peer. */
const scopes = ["per-peer", "per-channel-peer", "per-account-channel-peer"] as const;

function sessionOf(
  id: string,
  { channel = "bridged", kind = "dm", dmScope = "per-channel-peer", identityLinks = {} } = {},
): string {
  const configuration = mergeConfiguration({ session: { dmScope, identityLinks } });
  const { sessionKey } = routeInbound({ channel, peer: { kind, id } }, configuration, "owner");
  expect(canonicalizeSessionKey(sessionKey, keyRules(configuration)), "canonical").toBe(sessionKey);
  return sessionKey;
}

describe("two peers never share a conversation", () => {
  const pairs: [one: string, other: string][] = [
    ["张三", "李四"],
    ["a b", "a_b"],
    ["user#1", "user/1"],
    [" bob", "bob"],
    ["a:b", "a_b"],
    ["\u212ate", "kate"],
    ["\u212a#1", "k#1"],
    ["ann\u0000", "ann_"],
    [`${"x".repeat(190)}#1`, `${"x".repeat(190)}/1`],
    ["#".repeat(200), "/".repeat(200)],
  ];

  it.each(pairs)("in direct messages: %j and %j", (one, other) => {
    for (const dmScope of scopes) expect(sessionOf(one, { dmScope })).not.toBe(sessionOf(other, { dmScope }));
  });

  it.each(pairs)("in rooms: %j and %j", (one, other) => {
    expect(sessionOf(one, { kind: "group" })).not.toBe(sessionOf(other, { kind: "group" }));
  });

  it("even if one chooses the id to which the other's was converted", () => {
    for (const victim of ["user#1", "张三", "x".repeat(250)]) {
      const made = sessionOf(victim).replace("agent:main:bridged:dm:", "");
      expect(sessionOf(made)).not.toBe(sessionOf(victim));
      expect(sessionOf(made.toUpperCase())).not.toBe(sessionOf(victim));
    }
  });

  it("even if a bridge serves a channel of the gateway, whose threads have another form of key", () => {
    for (const [channel, thread, id] of [
      ["telegram", "-100123/5", "-100123_5"],
      ["slack", "C024BE7LH/1355517523.000005", "c024be7lh_1355517523.000005"],
      ["discord", "11/22", "11_22"],
    ] as const) {
      const own = sessionOf(thread, { channel, kind: "thread" });
      expect(own).toBe(`agent:main:${channel}:thread:${id}`);
      expect(sessionOf(id, { channel, kind: "thread" })).not.toBe(own);
    }
  });

  it("even if one has the name to which the other's ids are linked", () => {
    const identityLinks = { steve: ["bridged:42"], "Ann B": ["bridged:43"] };
    for (const dmScope of scopes) {
      const of = (id: string) => sessionOf(id, { dmScope, identityLinks });
      expect(of("steve")).not.toBe(of("42"));
      expect(of("STEVE")).not.toBe(of("42"));
      expect(of("Ann B")).not.toBe(of("43"));
    }
  });

  it("for any two of 3,000 ids that differ in more than ASCII letter case", () => {
    const random = seededRandom(6);
    const pieces = [
      "a",
      "B",
      "7",
      "_",
      "-",
      "/",
      "#",
      ":",
      " ",
      ".",
      "É",
      "张",
      "\u212a",
      "-0123456789abcdef01234567",
    ];
    const ids = new Map<string, string>();
    for (let i = 0; i < 3000; i++) {
      const id = random.text(pieces, 5) || "a";
      const folded = id.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
      const key = sessionOf(id);
      expect(ids.get(key) ?? folded, key).toBe(folded);
      ids.set(key, folded);
    }
    expect(ids.size).toBeGreaterThan(1000);
  });
});

describe("a conversation keeps its key", () => {
  it.each([
    ["+31628552611", "dm", "agent:main:bridged:dm:+31628552611"],
    ["31628552611@S.whatsapp.net", "dm", "agent:main:bridged:dm:31628552611@s.whatsapp.net"],
    ["U024BE7LH", "dm", "agent:main:bridged:dm:u024be7lh"],
    ["-1001234567890", "group", "agent:main:bridged:group:-1001234567890"],
    ["a_b.c@d.e", "channel", "agent:main:bridged:channel:a_b.c@d.e"],
  ])("if only the letter case of the id changes: %s", (id, kind, expected) => {
    expect(sessionOf(id, { kind })).toBe(expected);
  });

  it("and a key made by the former rules is still reachable by name", () => {
    const rules = { mainKey: "main", dmScope: "per-channel-peer" } as const;
    for (const key of [
      "agent:main:bridged:dm:__",
      "agent:main:bridged:group:user_1",
      "agent:main:my_project__one",
      `agent:main:bridged:dm:${"x".repeat(100)}-0123456789abcdef01234567`,
    ])
      expect(canonicalizeSessionKey(key, rules)).toBe(key);
  });

  it("and the main session keeps its key, whatever characters its configured name has", () => {
    const rules = { mainKey: "My Home", dmScope: "main" } as const;
    for (const name of ["main", "my home", "MY HOME", "my_home", "agent:main:my home"])
      expect(canonicalizeSessionKey(name, rules)).toBe("agent:main:my_home");
    expect(sessionOf("anybody", { dmScope: "main" })).toBe("agent:main:main");
  });
});

describe("sessions that users name", () => {
  it.each([
    ["张三", "李四"],
    ["my project", "my_project"],
    ["a/b", "a#b"],
  ])("are two: %s and %s", (one, other) => {
    const rules = { mainKey: "main", dmScope: "main" } as const;
    expect(canonicalizeSessionKey(one, rules)).not.toBe(canonicalizeSessionKey(other, rules));
  });
});

describe("an id is compared by the rules of its own channel", () => {
  it.each([
    ["matrix", "bob", "bob:7"],
    ["matrix", "bob", "bob@s.whatsapp.net"],
    ["telegram", "+7123456789", "7123456789"],
    ["discord", "+80351110224678912", "80351110224678912"],
    ["irc", "+1 555 0100 200", "+15550100200"],
    ["irc", "kate", "\u212aate"],
    ["irc", "bob", " bob"],
    ["whatsapp", "+31628552611", "31628552611@lid"],
  ])("on %s, %j neither admits nor links %j", (channel, entry, id) => {
    const message = { peer: { kind: "dm", id }, sender: { id } };
    const access = checkAccess(channel, { dmPolicy: "allowlist", allowFrom: [entry] }, message);
    expect(access.allowed).toBe(false);
    const linked = sessionOf(id, { channel, identityLinks: { owner: [entry, `${channel}:${entry}`] } });
    expect(linked).not.toBe(`agent:main:${channel}:dm:owner`);
  });

  it("and on WhatsApp every spelling of a phone number is the same person", () => {
    for (const id of ["31628552611", "31628552611:2@s.whatsapp.net", "+31 6 28552611", "31628552611@c.us"]) {
      const message = { peer: { kind: "dm", id }, sender: { id } };
      const settings = { dmPolicy: "allowlist", allowFrom: ["+31628552611"] } as const;
      expect(
        checkAccess("whatsapp", { ...settings, allowFrom: [...settings.allowFrom] }, message).allowed,
      ).toBe(true);
    }
  });
});
