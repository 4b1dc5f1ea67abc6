import { describe, expect, it } from "vitest";
import { isSameSender, normalizeSenderId, resolveIdentityLink } from "../../shared/session/key/identity.ts";

describe("the id of a sender, normalized for comparison", () => {
  it.each([
    ["31628552611@s.whatsapp.net", "+31628552611"],
    ["31628552611:0@s.whatsapp.net", "+31628552611"],
    ["+31 6 2855-2611", "+31628552611"],
    ["(0031) 628552611", "+0031628552611"],
    ["1234567890", "+1234567890"],
    ["123456789", "123456789"],
  ])("%s is %s on WhatsApp", (id, expected) => {
    expect(normalizeSenderId("whatsapp", id)).toBe(expected);
  });

  it.each([
    ["U024BE7LH", "u024be7lh"],
    ["120363041234567890@g.us", "120363041234567890@g.us"],
    ["-1001234567890", "-1001234567890"],
    ["", ""],
  ])("%s is not a phone number and stays %s", (id, expected) => {
    expect(normalizeSenderId("whatsapp", id)).toBe(expected);
  });

  it.each([
    ["telegram", "7123456789", "7123456789"],
    ["slack", "U024BE7LH", "u024be7lh"],
    ["irc", "+1-555-0100-200", "+1-555-0100-200"],
    ["irc", "\u212ate", "\u212ate"],
    ["signal", "+31 6 28552611", "+31628552611"],
    ["constructor", "toString", "tostring"],
  ])("on %s, %s is %s", (channel, id, expected) => {
    expect(normalizeSenderId(channel, id)).toBe(expected);
  });

  it("is the same for two spellings, and never for two empty ones", () => {
    expect(isSameSender("whatsapp", "+31628552611", "31628552611@s.whatsapp.net")).toBe(true);
    expect(isSameSender("whatsapp", "-1001234567890", "1001234567890")).toBe(false);
    expect(isSameSender("whatsapp", "", " ")).toBe(false);
  });

  it("is found in linear time for a long one", () => {
    for (const id of [`+${"(".repeat(200_000)}`, `${"1 ".repeat(100_000)}x`, ":1".repeat(100_000)])
      expect(normalizeSenderId("whatsapp", id)).not.toBe("");
  });
});

describe("identity links", () => {
  const links = {
    steve: ["+31628552611", "telegram:123456789", "whatsapp:+34675706329"],
    anna: ["Slack:U024BE7LH", "@anna:matrix.org"],
  };

  it.each([
    ["31628552611@s.whatsapp.net", "whatsapp", "steve"],
    ["+31628552611", "signal", "steve"],
    ["123456789", "telegram", "steve"],
    ["123456789", "discord", undefined],
    ["+34675706329", "signal", undefined],
    ["u024be7lh", "slack", "anna"],
    ["@anna:matrix.org", "matrix", "anna"],
    ["", "telegram", undefined],
  ])("of %j on %s give %s", (peerId, channel, expected) => {
    expect(resolveIdentityLink(peerId, channel, links)).toBe(expected);
  });

  it("that contain one id twice give the first", () => {
    expect(resolveIdentityLink("1", "x", { first: ["1"], second: ["1"] })).toBe("first");
  });

  it("that are empty match nobody", () => {
    expect(resolveIdentityLink("", "x", { nobody: ["", " ", "x:"] })).toBeUndefined();
    expect(resolveIdentityLink("1", "x")).toBeUndefined();
  });
});
