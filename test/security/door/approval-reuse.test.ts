import { afterAll, beforeAll, expect, it } from "vitest";
import { inboundParams, openBridge } from "../../support/bridge.ts";
import { openClient, openNode, type Peer } from "../../support/peer.ts";
import { type AttackedGateway, startAttackedGateway } from "../attacked-gateway.ts";

/** Approval reuse: a permission for one sender, socket or node must not work for another, or twice. */

let on: AttackedGateway;
beforeAll(async () => {
  on = await startAttackedGateway();
});
afterAll(() => on.close());

it("approval on one channel admits the sender there only, and nobody else", async () => {
  await on.configure({ "channels.ferry": { dmPolicy: "pairing" }, "channels.boat": { dmPolicy: "pairing" } });
  const ferry = await openBridge(on.ws, await on.token(["channel"], { channel: "ferry" }), "ferry");
  const boat = await openBridge(on.ws, await on.token(["channel"], { channel: "boat" }), "boat");
  const write = (peer: Peer, channel: string, id: string, from: string) =>
    peer.call<{ status: string }>("channel.inbound", {
      ...inboundParams(channel, id, "/help"),
      peer: { kind: "dm", id: from, name: "Ann", handle: "ann" },
    });
  expect(await write(ferry, "ferry", "1", "ann")).toMatchObject({ status: "pending_pairing" });
  await on.owner.call("pair.approve", { channel: "ferry", senderId: "ann" });
  expect(await write(ferry, "ferry", "2", "ann")).toMatchObject({ status: "command" });
  expect(await write(boat, "boat", "3", "ann")).toMatchObject({ status: "pending_pairing" });
  for (const other of ["ann2", "an", "ann.", "bob"])
    expect(await write(ferry, "ferry", `4-${other}`, other), other).toMatchObject({
      status: "pending_pairing",
    });
  // The request was used up: a second approval admits nobody who did not ask.
  const again = await on.owner.request("pair.approve", { channel: "ferry", senderId: "carol" });
  expect(again).toMatchObject({ ok: false, error: { code: 404 } });
  for (const peer of [ferry, boat]) peer.socket.terminate();
});

it("uploaded params can be used once, and only on the socket that reserved them", async () => {
  const mine = await openClient(on.ws, await on.token(["client"]), "mine");
  const others = await openClient(on.ws, await on.token(["client"]), "others");
  const params = JSON.stringify({ sessionKey: "agent:main:reused", label: "once" });
  const { ref, url } = await mine.call<{ ref: string; url: string }>("payload.upload", {
    bytes: params.length,
  });
  expect((await fetch(url, { method: "PUT", body: params })).status).toBe(200);
  const patch = (peer: Peer, id: string) => {
    peer.send({ type: "req", id, method: "session.patch", paramsRef: ref });
    return peer.response(id);
  };
  expect(await patch(others, "a")).toMatchObject({ ok: false, error: { code: 404 } });
  expect(await patch(mine, "b")).toMatchObject({ ok: true });
  expect(await patch(mine, "c")).toMatchObject({ ok: false, error: { code: 404 } });
  for (const peer of [mine, others]) peer.socket.terminate();
});

it("only the node that received a call can answer it, and once", async () => {
  const tool = { Bash: () => undefined };
  const asked = await openNode(on.ws, await on.token(["node"]), "asked", tool);
  const other = await openNode(on.ws, await on.token(["node"]), "other", tool);
  on.owner.send({ type: "req", id: "ask", method: "tool.invoke", params: { tool: "asked__Bash", args: {} } });
  await asked.event((_payload, event) => event === "tool.invoke", "the node is asked");
  const callId = asked.calls[0]?.callId;
  const answer = (peer: Peer, result: string) => peer.request("tool.result", { callId, result });
  expect(await answer(other, "forged")).toMatchObject({ ok: false, error: { code: 404 } });
  expect(await answer(asked, "mine")).toMatchObject({ ok: true });
  expect(await answer(asked, "again")).toMatchObject({ ok: false, error: { code: 404 } });
  expect(await on.owner.response("ask")).toMatchObject({ ok: true, payload: { result: "mine" } });
  expect(on.owner.responses.filter(({ id }) => id === "ask")).toHaveLength(1);
  for (const peer of [asked, other]) peer.socket.terminate();
});
