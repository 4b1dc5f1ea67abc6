import { afterAll, beforeAll, expect, it } from "vitest";
import WebSocket from "ws";
import { methods } from "../../../shared/protocol/methods.ts";
import { clientParams, Peer } from "../../support/peer.ts";
import { type AttackedGateway, startAttackedGateway } from "../attacked-gateway.ts";

/** Auth by presence: an invalid credential must count as none. */

let on: AttackedGateway;
/** Plausible tokens: of the right form, with the right id, or with the right secret. */
let fakes: string[];

beforeAll(async () => {
  on = await startAttackedGateway();
  const [one = "", other = ""] = [await on.token(["client", "admin"]), await on.token(["client", "admin"])];
  const [id, secret] = [one.slice(4, 14), other.slice(15)];
  fakes = [
    ...["x", "true", "null", "undefined", "gsv", "gsv__", "Bearer", "[object Object]", "*"],
    ...[`gsv_${id}_`, `gsv_${id}_${secret}`, `gsv_${id}_${"A".repeat(43)}`, `gsv_aaaaaaaaaa_${secret}`],
    ...[`${one}A`, one.slice(0, -1), one.toUpperCase(), `x${one}`, id, secret],
  ];
});
afterAll(() => on.close());

it("an Authorization header with a wrong token is refused before the socket opens", async () => {
  for (const fake of fakes) await expect(Peer.open(on.ws, fake), fake).rejects.toThrow("HTTP 401");
  for (const header of ["", "Bearer ", "Basic eDp5", "Digest x"]) {
    const socket = new WebSocket(on.ws, { headers: { authorization: header } });
    const outcome = await new Promise((resolve) => {
      socket.on("unexpected-response", (_request, { statusCode }) => resolve(statusCode));
      socket.on("open", () => resolve("open"));
      socket.on("error", () => {});
    });
    // An empty header is no token, and a socket without a token may do nothing.
    if (outcome === "open") expect(header).toBe("");
    else expect(outcome, header).toBe(401);
    socket.terminate();
  }
});

it("a `connect` with a wrong token, or a value that is no token, is refused", async () => {
  for (const token of [...fakes, "", " ", null, true, 1, {}, ["x"]]) {
    const peer = await Peer.open(on.ws);
    const answer = await peer.request("connect", { ...clientParams("stranger"), auth: { token } });
    expect([400, 401], JSON.stringify(token)).toContain(answer.error?.code);
    peer.socket.terminate();
  }
});

it("no method answers a socket that has not connected, even if its frames contain a token", async () => {
  const token = await on.token(["client", "admin"]);
  for (const method of methods.filter((one) => one !== "connect")) {
    const peer = await Peer.open(on.ws);
    peer.send({ type: "req", id: "r", method, params: { auth: { token } }, auth: { token }, token });
    expect(await peer.response("r"), method).toMatchObject({ ok: false, error: { code: 101 } });
    peer.socket.terminate();
  }
});
