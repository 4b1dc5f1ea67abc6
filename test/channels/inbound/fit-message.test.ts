import { describe, expect, it } from "vitest";
import type { InboundMessage } from "../../../shared/channels/channel.ts";
import { fitMessage } from "../../../shared/channels/inbound/incoming.ts";
import { entryBytes, maxEntryBytes } from "../../../shared/session/inbox.ts";
import type { RemoteMedia } from "../../../shared/session/inbox-entry.ts";

const origin = { kind: "channel", channel: "slack", accountId: "default" } as const;
const rest = { id: "slack:default:Ev1", origin: { ...origin, peer: { kind: "dm", id: "D1" } } };
const said = (text: string, attachments?: RemoteMedia[]) =>
  fitMessage({ text, attachments } as InboundMessage, rest);
const file = (n: number, url = `https://files.example/${n}`): RemoteMedia => ({
  type: "document",
  source: { url },
});

describe("a message of a channel", () => {
  it("that fits into an inbox is not changed", () => {
    expect(said("hello", [file(1)])).toEqual({ text: "hello", attachments: [file(1)] });
    expect(said("x".repeat(98_000)).text).toBe("x".repeat(98_000));
  });

  it.each([
    ["Chinese", "漢"],
    ["emoji, never one half of a pair", "👩"],
    ["characters that JSON writes in six bytes", "\u0001"],
    ["lines", "\n"],
  ])("that is too long is cut to fit, with a note: %s", (_what, character) => {
    const text = character.repeat(80_000);
    const fitted = said(text);
    const entry = { ...rest, ...fitted, kind: "message", at: 1_780_000_000_000 } as const;
    expect(entryBytes(entry)).toBeLessThanOrEqual(maxEntryBytes);
    expect(entryBytes(entry)).toBeGreaterThan(maxEntryBytes - 2000);
    const note = `\n[cut here: the message has ${text.length} characters]`;
    expect(fitted.text.endsWith(note)).toBe(true);
    expect(text.startsWith(fitted.text.slice(0, -note.length).replace(/\uFFFD$/, ""))).toBe(true);
  });

  it("that is too long with what it forwards is cut in both", () => {
    for (const [own, others] of [
      [60_000, 60_000],
      [10, 120_000],
      [120_000, 10],
    ] as const) {
      const message = { text: "x".repeat(own), shown: "> y".repeat(others / 2) } as InboundMessage;
      const { attachments: _, ...fitted } = fitMessage(message, rest);
      const text = `${fitted.text}\n${fitted.shown}`;
      const entry = { ...rest, text, kind: "message", at: 1_780_000_000_000 } as const;
      expect(entryBytes(entry)).toBeLessThanOrEqual(maxEntryBytes);
      expect(text).toContain("[cut here: the message has");
    }
  });

  it("has at most ten attachments, and none with a huge description", () => {
    const many = Array.from({ length: 12 }, (_, n) => file(n));
    const fitted = said("look", [file(0, "x".repeat(5000)), ...many]);
    expect(fitted).toMatchObject({ text: "look", shown: "[3 more attachments were left out]" });
    expect(fitted.attachments).toEqual(many.slice(0, 10));
    expect(said("", [...many.slice(0, 10), file(11)]).shown).toBe("[1 more attachment was left out]");
  });
});
