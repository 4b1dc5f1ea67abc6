import { describe, expect, expectTypeOf, it } from "vitest";
import type { Gateway } from "../../cli/gateway/gateway-client.ts";
import type { MethodEntry, MethodTable } from "../../functions/socket/gateway.ts";
import type { Broadcast } from "../../shared/peers/broadcast.ts";
import { type EventName, type Events, events, type TotalOver } from "../../shared/protocol/events.ts";
import { eventFrame, okFrame } from "../../shared/protocol/frames.ts";
import { type Method, methods } from "../../shared/protocol/methods.ts";
import type { Results } from "../../shared/protocol/results.ts";

// `tsc` checks this file: it reports an error that is expected here and does not occur.

describe("the result of a method", () => {
  it("is declared for every method and for nothing else", () => {
    expectTypeOf<keyof Results>().toEqualTypeOf<Method>();
    // @ts-expect-error a method without a result
    expectTypeOf<TotalOver<Method, Omit<Results, "chat.send">>>().not.toBeNever();
    // @ts-expect-error the result of an unknown method
    expectTypeOf<TotalOver<Method, Results & { "chat.receive": object }>>().not.toBeNever();
    expect(new Set(methods).size).toBe(methods.length);
  });

  it("is the return type of its handler", () => {
    type Handler = MethodEntry<"session.patch">["handle"];
    const right: Handler = async () => ({ ok: true });
    // @ts-expect-error not the result of session.patch
    const wrong: Handler = async () => ({ ok: "yes" });
    // @ts-expect-error no result
    const silent: Handler = async () => undefined;
    // @ts-expect-error a table without the handler of chat.send
    const table: MethodTable = {} as Omit<MethodTable, "chat.send">;
    expect([right, wrong, silent, table]).toHaveLength(4);
  });

  it("is the type of a deferred answer", () => {
    const compacted = { ok: true, trimmedMessages: 1, keptMessages: 2 } as const;
    expect(okFrame<"session.compact">("7", compacted).payload).toBe(compacted);
    // @ts-expect-error not the result of session.reset
    okFrame<"session.reset">("7", compacted);
    // @ts-expect-error the method has to be named
    okFrame("7", compacted);
  });

  it("is the type that a client receives", () => {
    const list = (gateway: Gateway) => gateway.request("token.list");
    expectTypeOf(list).returns.resolves.toEqualTypeOf<Results["token.list"]>();
    // @ts-expect-error an unknown method
    const receive = (gateway: Gateway) => gateway.request("chat.receive");
    expect([list, receive]).toHaveLength(2);
  });
});

describe("the payload of an event", () => {
  const typing = { channel: "x", accountId: "y", peer: { kind: "dm", id: "z" }, typing: true };

  it("is declared for every event and for nothing else", () => {
    expectTypeOf<keyof Events>().toEqualTypeOf<EventName>();
    // @ts-expect-error an event without a payload
    expectTypeOf<TotalOver<EventName, Omit<Events, "chat">>>().not.toBeNever();
    // @ts-expect-error the payload of an unknown event
    expectTypeOf<TotalOver<EventName, Events & { chatter: object }>>().not.toBeNever();
    expect(new Set(events).size).toBe(events.length);
  });

  it("is the type of an event's frame", () => {
    const frame = eventFrame("channel.typing", typing);
    expect(frame).toEqual({ type: "evt", event: "channel.typing", payload: typing });
    // @ts-expect-error not the payload of channel.typing
    eventFrame("channel.typing", { ...typing, typing: "yes" });
    // @ts-expect-error an unknown event
    eventFrame("channel.reading", typing);
  });

  it("is the type of a broadcast and of its fallback", () => {
    const end = { runId: "r", sessionKey: "s", state: "error", error: "e" } as const;
    const right = (broadcast: Broadcast) => broadcast.send([], "chat", end, end);
    // @ts-expect-error not the payload of chat
    const wrong = (broadcast: Broadcast) => broadcast.send([], "chat", typing);
    // @ts-expect-error the fallback is not the payload of chat
    const short = (broadcast: Broadcast) => broadcast.send([], "chat", end, typing);
    expect([right, wrong, short]).toHaveLength(3);
  });

  it("is the type that a client's handler receives", () => {
    const right = (gateway: Gateway) =>
      gateway.onEvent("chat", (event) => expectTypeOf(event).toEqualTypeOf<Events["chat"]>());
    // @ts-expect-error an unknown event
    const wrong = (gateway: Gateway) => gateway.onEvent("chatter", () => {});
    expect([right, wrong]).toHaveLength(2);
  });
});
