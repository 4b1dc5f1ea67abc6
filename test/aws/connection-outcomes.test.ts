import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { openApiGatewaySockets } from "../../shared/aws/open-aws.ts";
import { eventFrame } from "../../shared/protocol/frames.ts";
import type { Sockets } from "../../shared/world/world.ts";

let server: Server;
let sockets: Sockets;
let answers: [status: number, errorType: string][] = [];
let asked = 0;

/** A @connections API that gives the scripted answers, and then 200. */
beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      asked += 1;
      const [status, errorType] = answers.shift() ?? [200, ""];
      const headers = status === 200 ? {} : { "x-amzn-errortype": errorType };
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(
        status === 200 ? "" : JSON.stringify({ message: null, connectionId: "c", requestId: "r" }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  process.env.AWS_REGION = "us-east-1";
  process.env.AWS_ACCESS_KEY_ID = "LOCALTEST";
  process.env.AWS_SECRET_ACCESS_KEY = "local";
  sockets = openApiGatewaySockets(`http://127.0.0.1:${(server.address() as AddressInfo).port}/ws`);
});
beforeEach(() => {
  answers = [];
  asked = 0;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const frame = eventFrame("chat", { runId: "r", sessionKey: "s", state: "error", error: "e" });
const full: [number, string] = [429, "LimitExceededException"];

it.each([
  [410, "GoneException", "gone"],
  [403, "ForbiddenException", "gone"],
  [413, "PayloadTooLargeException", "too large"],
] as const)("an answer %i %s is no error: the frame's outcome is %s", async (status, type, outcome) => {
  answers = [[status, type]];
  expect(await sockets.post("c", frame)).toBe(outcome);
  expect(asked).toBe(1);
});

it("a role that may not post is an error, and no peer is gone for it", async () => {
  answers = [[403, "AccessDeniedException"]];
  await expect(sockets.post("c", frame)).rejects.toMatchObject({ name: "AccessDeniedException" });
});

it("a frame for a peer whose buffer is full is posted again, until it is taken", async () => {
  answers = [full];
  expect(await sockets.post("c", frame)).toBe("sent");
  expect(asked).toBe(2);
});

it("a frame that is tried once is not posted again: for a full buffer, and for a failure", async () => {
  answers = [full];
  expect(await sockets.post("c", frame, { once: true })).toBe("busy");
  answers = [[500, "InternalServerError"]];
  await expect(sockets.post("c", frame, { once: true })).rejects.toThrow();
  expect(asked).toBe(2);
});

it("closing a connection that is forbidden or gone is done", async () => {
  answers = [
    [403, "ForbiddenException"],
    [410, "GoneException"],
  ];
  await sockets.close("c");
  await sockets.close("c");
  expect(asked).toBe(2);
});
