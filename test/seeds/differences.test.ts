import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { routeInbound } from "../../shared/session/key/routing.ts";
import { buildAgentSessionKey, normalizeMainKey } from "../../shared/session/key/session-key.ts";
import { identitySection } from "../../shared/workspace/agent-identity.ts";

const page = readFileSync("docs/decisions/storage-and-routing.md", "utf8");
const links = { steve: ["+31628552611"] };
const keyOf = (kind: string, id: string, channel = "whatsapp") =>
  buildAgentSessionKey({
    ...{ agentId: "main", channel, peer: { kind, id } },
    ...{ dmScope: "per-channel-peer", identityLinks: links },
  });
const configuration = {
  session: { mainKey: "main", dmScope: "main" as const, identityLinks: {} },
  agents: { list: [], bindings: [] },
};
const guest = { channel: "telegram", peer: { kind: "dm", id: "7" } };
const identity =
  "- **Vibe:** warm\n- **Emoji:** x\n- **Avatar:** a.png\n- **Creature:** octopus\n- **Name:** Kate";

const differences: [row: string, here: string, is: string][] = [
  [
    "guests have own keys",
    routeInbound(guest, configuration, "guest").sessionKey,
    "agent:main:telegram:guest:7",
  ],
  ["direct messages only", keyOf("group", "+31628552611"), "agent:main:whatsapp:group:+31628552611"],
  [
    "WhatsApp, Signal, iMessage, SMS; else exact",
    keyOf("dm", "31628552611", "discord"),
    "agent:main:discord:dm:31628552611",
  ],
  ["number or user id", keyOf("dm", "31628552611"), "agent:main:whatsapp:dm:steve"],
  ["`mainKey` lower-cased", normalizeMainKey("My Main"), "my_main"],
  ["a hash is appended", keyOf("dm", "a b", "x").replace(/[0-9a-f]{24}$/, "#"), "agent:main:x:dm:a_b-#"],
  ["channel and kind 32 characters", `${keyOf("dm", "1", "c".repeat(40)).split(":")[2]?.length}`, "32"],
  ["`mainKey` and names 64", `${normalizeMainKey("m".repeat(99)).length}`, "64"],
  [
    "first `name`, `creature`, `vibe`, `emoji`",
    identitySection(identity),
    "name=Kate, creature=octopus, vibe=warm, emoji=x",
  ],
];

it.each(differences)("the page of differences has: %s", (row, here, is) => {
  expect(page).toContain(row);
  expect(here).toBe(is);
});

it.each(["`workspace` path", "{ok, result}", "No global edge"])("the page of differences has: %s", (row) => {
  expect(page).toContain(row);
});
