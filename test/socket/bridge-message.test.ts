import { expect, it } from "vitest";
import { readBridgeMessage } from "../../functions/socket/methods/bridge.ts";
import { incomingOf } from "../../shared/channels/inbound/incoming.ts";

const read = (kind: "dm" | "group", peerId: string, id: string, timestamp?: number) =>
  readBridgeMessage(
    {
      channel: "signal",
      accountId: "default",
      peer: { kind, id: peerId },
      sender: { id: "ann" },
      message: { id, text: "hello", media: [], timestamp },
      wasMentioned: true,
    },
    1,
  );

it("a bridge's message is identified by its id and conversation, and replies name only the id", () => {
  const messages = [
    read("dm", "1", "7"),
    read("dm", "2", "7"),
    read("group", "1", "7"),
    read("dm", "1", "8"),
  ];
  expect(new Set(messages.map(({ eventId }) => eventId)).size).toBe(messages.length);
  expect(messages.map(({ messageId }) => messageId)).toEqual(["7", "7", "7", "8"]);
  expect(read("dm", "1", "7").eventId).toBe(messages[0]?.eventId);
});

it("only a time that the bridge gives orders messages", async () => {
  const dated = async (timestamp?: number) => {
    const message = read("dm", "1", "7", timestamp);
    const to = { id: "i", sessionKey: "agent:main:main", role: "owner", timezone: "UTC" } as never;
    return (await incomingOf({} as never, { channel: "signal", accountId: "default" }, message, to)).sentAt;
  };
  expect(await dated(5)).toBe(5);
  expect(await dated()).toBeUndefined();
});
