import { describe, expect, it } from "vitest";
import { checkAccess } from "../../../shared/channels/inbound/admission.ts";
import type { ChannelConfiguration } from "../../../shared/configuration/schema.ts";

/** Access on WhatsApp, whose ids are phone numbers. */
const access = (
  configuration: ChannelConfiguration | undefined,
  message: Parameters<typeof checkAccess>[2],
  channel = "whatsapp",
) => checkAccess(channel, configuration, message);
const dm = (id: string, name?: string) => ({ peer: { kind: "dm", id }, sender: { id, name } });
const inRoom = (kind: string, room: string, sender: string) => ({
  peer: { kind, id: room },
  sender: { id: sender },
});
const allowlist = (...allowFrom: string[]): ChannelConfiguration => ({ dmPolicy: "allowlist", allowFrom });

describe("the permission to write to a channel", () => {
  it("is given to nobody without a policy, even with a list", () => {
    const closed = { allowed: false, reason: "closed" };
    expect(access(undefined, dm("1"))).toEqual(closed);
    expect(access({}, dm("1"))).toEqual(closed);
    expect(access({ allowFrom: ["1", "*"] }, dm("1"))).toEqual(closed);
  });

  it("is given to everybody when the channel is open", () => {
    expect(access({ dmPolicy: "open" }, dm("1"))).toEqual({ allowed: true });
    expect(access({ dmPolicy: "open" }, inRoom("group", "-5", "1"))).toEqual({ allowed: true });
  });

  it("is given to listed ids in any of their forms", () => {
    const listed = allowlist("+31 6 28552611", "5001002003");
    for (const id of ["31628552611@s.whatsapp.net", "5001002003"]) {
      expect(access(listed, dm(id))).toEqual({ allowed: true });
    }
    expect(access(listed, dm("5001002004"))).toEqual({ allowed: false, reason: "allowlist" });
    expect(access(allowlist("*"), dm("8"))).toEqual({ allowed: true });
    expect(access({ dmPolicy: "allowlist" }, dm("8"))).toEqual({ allowed: false, reason: "allowlist" });
  });

  it("never depends on a name", () => {
    expect(access(allowlist("Ann"), dm("1", "Ann"))).toEqual({ allowed: false, reason: "allowlist" });
  });

  it("is decided only by the channel's rules", () => {
    const refused = { allowed: false, reason: "allowlist" };
    expect(access(allowlist("bob"), dm("bob:7"), "matrix")).toEqual(refused);
    expect(access(allowlist("bob"), dm("bob@c.us"), "matrix")).toEqual(refused);
    expect(access(allowlist("+31628552611"), dm("31628552611"), "telegram")).toEqual(refused);
    expect(access(allowlist("u024be7lh"), dm("U024BE7LH"), "slack")).toEqual({ allowed: true });
  });

  it("cannot be requested by an id that would match another one in the list", () => {
    for (const id of ["*", " * ", " bob", "bob ", " "])
      expect(access({ dmPolicy: "pairing" }, dm(id), "matrix")).toEqual({
        allowed: false,
        reason: "allowlist",
      });
  });

  it("is the same in rooms, where the room itself may be listed", () => {
    const group = inRoom("group", "-100123", "42");
    expect(access(allowlist("7"), group)).toEqual({ allowed: false, reason: "allowlist" });
    expect(access(allowlist("42"), group)).toEqual({ allowed: true });
    expect(access(allowlist("-100123"), group)).toEqual({ allowed: true });
    expect(access(allowlist("-100123"), inRoom("thread", "-100123/5", "42"))).toEqual({ allowed: true });
    expect(access(allowlist("100123"), group)).toEqual({ allowed: false, reason: "allowlist" });
  });

  it("may be requested in a direct message when pairing is on", () => {
    const pairing: ChannelConfiguration = { dmPolicy: "pairing", allowFrom: ["7"] };
    expect(access(pairing, dm("7"))).toEqual({ allowed: true });
    expect(access(pairing, dm("8"))).toEqual({ allowed: false, reason: "pairing" });
    expect(access(pairing, inRoom("group", "-5", "8"))).toEqual({ allowed: false, reason: "allowlist" });
  });
});
