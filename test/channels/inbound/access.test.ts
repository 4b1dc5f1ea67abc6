import { describe, expect, it } from "vitest";
import { checkAccess } from "../../../shared/channels/inbound/admission.ts";
import type { ChannelConfiguration } from "../../../shared/configuration/schema.ts";

const dm = (id: string, name?: string) => ({ peer: { kind: "dm", id }, sender: { id, name } });
const inRoom = (kind: string, room: string, sender: string) => ({
  peer: { kind, id: room },
  sender: { id: sender },
});
const allowlist = (...allowFrom: string[]): ChannelConfiguration => ({ dmPolicy: "allowlist", allowFrom });

describe("who may write to a channel", () => {
  it("is nobody where no policy is set, even with a list", () => {
    const closed = { allowed: false, reason: "closed" };
    expect(checkAccess(undefined, dm("1"))).toEqual(closed);
    expect(checkAccess({}, dm("1"))).toEqual(closed);
    expect(checkAccess({ allowFrom: ["1", "*"] }, dm("1"))).toEqual(closed);
  });

  it("is everybody where it is open", () => {
    expect(checkAccess({ dmPolicy: "open" }, dm("1"))).toEqual({ allowed: true });
    expect(checkAccess({ dmPolicy: "open" }, inRoom("group", "-5", "1"))).toEqual({ allowed: true });
  });

  it("is who is listed, by the id in any of its forms", () => {
    const listed = allowlist("+31 6 28552611", "5001002003");
    for (const id of ["31628552611@s.whatsapp.net", "5001002003"]) {
      expect(checkAccess(listed, dm(id))).toEqual({ allowed: true });
    }
    expect(checkAccess(listed, dm("5001002004"))).toEqual({ allowed: false, reason: "allowlist" });
    expect(checkAccess(allowlist("*"), dm("8"))).toEqual({ allowed: true });
    expect(checkAccess({ dmPolicy: "allowlist" }, dm("8"))).toEqual({ allowed: false, reason: "allowlist" });
  });

  it("is never settled by a name", () => {
    expect(checkAccess(allowlist("Ann"), dm("1", "Ann"))).toEqual({ allowed: false, reason: "allowlist" });
  });

  it("is the same in rooms, where the room itself may be listed", () => {
    const group = inRoom("group", "-100123", "42");
    expect(checkAccess(allowlist("7"), group)).toEqual({ allowed: false, reason: "allowlist" });
    expect(checkAccess(allowlist("42"), group)).toEqual({ allowed: true });
    expect(checkAccess(allowlist("-100123"), group)).toEqual({ allowed: true });
    expect(checkAccess(allowlist("-100123"), inRoom("thread", "-100123/5", "42"))).toEqual({ allowed: true });
    expect(checkAccess(allowlist("100123"), group)).toEqual({ allowed: false, reason: "allowlist" });
  });

  it("may be asked for in a direct message where pairing is on", () => {
    const pairing: ChannelConfiguration = { dmPolicy: "pairing", allowFrom: ["7"] };
    expect(checkAccess(pairing, dm("7"))).toEqual({ allowed: true });
    expect(checkAccess(pairing, dm("8"))).toEqual({ allowed: false, reason: "pairing" });
    expect(checkAccess(pairing, inRoom("group", "-5", "8"))).toEqual({ allowed: false, reason: "allowlist" });
  });
});
