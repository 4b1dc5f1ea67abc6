import { describe, expect, it } from "vitest";
import { defaults } from "../../shared/configuration/defaults.ts";
import { findFault } from "../../shared/configuration/schema.ts";
import { mergeConfiguration } from "../../shared/configuration/store.ts";
import {
  defaultAgentId,
  type Inbound,
  keyRules,
  type RoutingConfiguration,
  routeInbound,
} from "../../shared/session/key/routing.ts";
import { canonicalizeSessionKey, sessionKind } from "../../shared/session/key/session-key.ts";
import { seededRandom } from "../support/random.ts";

const configured = (overrides: Record<string, unknown>): RoutingConfiguration => {
  const configuration = mergeConfiguration(overrides);
  expect(findFault(configuration)).toBeUndefined();
  return configuration;
};
const dm = (id: string, more: Partial<Inbound> = {}): Inbound => ({
  channel: "whatsapp",
  accountId: "default",
  peer: { kind: "dm", id },
  ...more,
});

describe("the default agent", () => {
  it("is the marked one, else main", () => {
    expect(defaultAgentId([{ id: "a" }, { id: "b", default: true }])).toBe("b");
    expect(defaultAgentId([{ id: "a" }, { id: "b" }])).toBe("main");
    expect(defaultAgentId([])).toBe("main");
  });
});

describe("an inbound message", () => {
  it("goes to the main session without configuration", () => {
    expect(routeInbound(dm("+31628552611"), defaults, "owner")).toEqual({
      agentId: "main",
      sessionKey: "agent:main:main",
    });
  });

  it("goes to the agent of the first binding that matches", () => {
    const configuration = configured({
      agents: {
        list: [{ id: "home", default: true }, { id: "work" }, { id: "club" }],
        bindings: [
          { agentId: "club", match: { channel: "whatsapp", peer: { kind: "group", id: "123@g.us" } } },
          { agentId: "work", match: { channel: "WhatsApp", accountId: "Business" } },
          { agentId: "boss", match: { peer: { id: "+31628552611" } } },
          { agentId: "late", match: { channel: "whatsapp", accountId: "business" } },
        ],
      },
    });
    const agentOf = (inbound: Inbound) => routeInbound(inbound, configuration, "owner").agentId;
    const club = { kind: "group", id: "123@g.us" };
    expect(agentOf(dm("", { peer: club }))).toBe("club");
    expect(agentOf(dm("", { peer: club, accountId: "business" }))).toBe("club");
    expect(agentOf(dm("", { peer: club, channel: "signal" }))).toBe("home");
    expect(agentOf(dm("1", { accountId: "business" }))).toBe("work");
    expect(agentOf(dm("31628552611@s.whatsapp.net"))).toBe("boss");
    expect(agentOf(dm("31628552611@s.whatsapp.net", { accountId: "business" }))).toBe("work");
    expect(agentOf(dm("1"))).toBe("home");
  });

  it("goes to every agent's catch-all: a binding without fields", () => {
    const configuration = configured({ agents: { bindings: [{ agentId: "all", match: {} }] } });
    expect(routeInbound(dm("1"), configuration, "owner")).toEqual({
      agentId: "all",
      sessionKey: "agent:all:main",
    });
  });

  it("goes to the account's agent when no binding matches", () => {
    const configuration = configured({
      channels: { telegram: { accounts: { support: { agentId: "support" }, plain: {} } } },
      agents: { bindings: [{ agentId: "vip", match: { channel: "telegram", peer: { id: "7" } } }] },
    });
    const agentOf = (accountId: string, id: string) =>
      routeInbound(dm(id, { channel: "telegram", accountId }), configuration, "owner").agentId;
    expect(agentOf("support", "1")).toBe("support");
    expect(agentOf("support", "7")).toBe("vip");
    expect(agentOf("plain", "1")).toBe("main");
    expect(agentOf("constructor", "1")).toBe("main");
  });

  it("of one person on two channels goes to one session through identity links, per peer", () => {
    const configuration = configured({
      session: { dmScope: "per-peer", identityLinks: { steve: ["+31628552611", "telegram:123456789"] } },
    });
    const keyOf = (inbound: Inbound) => routeInbound(inbound, configuration, "owner").sessionKey;
    expect(keyOf(dm("31628552611@s.whatsapp.net"))).toBe("agent:main:dm:steve");
    expect(keyOf(dm("123456789", { channel: "telegram" }))).toBe("agent:main:dm:steve");
    expect(keyOf(dm("987654321", { channel: "telegram" }))).toBe("agent:main:dm:987654321");
  });

  it("in a room for two is linked by its sender, but not in a group", () => {
    const configuration = configured({
      session: { dmScope: "per-channel-peer", identityLinks: { anna: ["slack:U024BE7LH"] } },
    });
    const slack = (kind: string, id: string): Inbound => ({
      channel: "slack",
      peer: { kind, id },
      sender: { id: "U024BE7LH" },
    });
    const keyOf = (inbound: Inbound) => routeInbound(inbound, configuration, "owner").sessionKey;
    expect(keyOf(slack("dm", "D7"))).toBe("agent:main:slack:dm:anna");
    expect(keyOf(slack("channel", "C7"))).toBe("agent:main:slack:channel:c7");
  });

  it.each([
    ["main", "agent:main:telegram:guest:7"],
    ["per-peer", "agent:main:telegram:guest:7"],
    ["per-channel-peer", "agent:main:telegram:guest:7"],
    ["per-account-channel-peer", "agent:main:telegram:work:guest:7"],
  ])("of a guest goes to the guest's own session in %s, ignoring links", (dmScope, expected) => {
    const configuration = configured({ session: { dmScope, identityLinks: { steve: ["7", "telegram:7"] } } });
    const inbound = dm("7", { channel: "telegram", accountId: "work" });
    const { sessionKey } = routeInbound(inbound, configuration, "guest");
    expect(sessionKey).toBe(expected);
    for (const scope of ["main", "per-peer", "per-channel-peer", "per-account-channel-peer"] as const) {
      const rules = { mainKey: "main", dmScope: scope };
      expect(canonicalizeSessionKey(sessionKey, rules)).toBe(sessionKey);
      expect(sessionKind(sessionKey, rules)).toBe("guest");
    }
  });

  it("of a guest is routed by its writer, not by its room", () => {
    const inbound = dm("D7", { channel: "slack", sender: { id: "U024BE7LH" } });
    expect(routeInbound(inbound, defaults, "guest").sessionKey).toBe("agent:main:slack:guest:u024be7lh");
    const group = dm("", { peer: { kind: "group", id: "g" } });
    expect(routeInbound(group, defaults, "guest")).toEqual(routeInbound(group, defaults, "owner"));
  });

  it("never throws, and has a canonical key, for any of 2,000 inputs", () => {
    const random = seededRandom(4);
    const pieces = [
      "a",
      "7",
      "+",
      ":",
      " ",
      "dm",
      "É",
      "🧾",
      "@s.whatsapp.net",
      "x".repeat(60),
      "constructor",
    ];
    const text = () => random.text(pieces, 6);
    for (let i = 0; i < 2000; i++) {
      const configuration: RoutingConfiguration = {
        session: {
          mainKey: text(),
          dmScope: random.pick(["main", "per-peer", "per-channel-peer", "per-account-channel-peer"]),
          identityLinks: { [text()]: [text(), text()], b: ["a"] },
        },
        agents: { list: [{ id: text() }], bindings: [{ agentId: text(), match: { channel: text() } }] },
      };
      const inbound = {
        channel: text(),
        accountId: text(),
        peer: { kind: random.pick(["dm", "group", text()]), id: text() },
        sender: { id: text() },
      };
      const role = random.pick(["owner", "guest"] as const);
      const { agentId, sessionKey } = routeInbound(inbound, configuration, role);
      expect(canonicalizeSessionKey(sessionKey, keyRules(configuration)), JSON.stringify(inbound)).toBe(
        sessionKey,
      );
      expect(sessionKey.startsWith(`agent:${agentId}:`)).toBe(true);
    }
  });
});
