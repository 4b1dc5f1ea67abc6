import { type Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";
import type { Report } from "../report.ts";
import type { DeliveryCase, RawRequest } from "./draw-delivery.ts";

/** Timeout for an answer, in milliseconds. */
const answerMs = 60_000;

/** Sends a delivery (a replay twice), and checks the answer. */
export async function sendDelivery(
  url: string,
  agent: Agent,
  one: DeliveryCase,
  report: Report,
): Promise<void> {
  report.delivered(one);
  if (one.kind === "truncated") return sendTruncated(url, one.request);
  const times = one.kind === "replay" ? 2 : 1;
  for (let time = 0; time < times; time++) {
    const sentAt = performance.now();
    const status = await send(url, agent, one.request).catch((error: NodeJS.ErrnoException) =>
      String(error.code),
    );
    report.waited(performance.now() - sentAt);
    report.answered(`http ${status}`);
    if (typeof status === "string") {
      // The server may stop reading a huge body, so that the write fails before the answer is read.
      const isCut = one.kind === "huge" && ["ECONNRESET", "EPIPE"].includes(status);
      if (!isCut) report.violation("unanswered", one, status);
    } else if (one.isSigned ? status >= 500 : status < 400 || (status >= 500 && status !== 503)) {
      report.violation(status >= 500 ? "500" : "let in", one, `HTTP ${status}`);
    }
  }
}

function send(url: string, agent: Agent, { method, path, headers, body }: RawRequest): Promise<number> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const length = { "content-length": String(body.length) };
    const sending = httpRequest(
      { hostname, port, method, path, agent, headers: { ...headers, ...length } },
      (answer) => {
        answer.resume();
        answer.on("end", () => resolve(answer.statusCode ?? 0));
        answer.on("error", reject);
      },
    );
    sending.setTimeout(answerMs, () =>
      sending.destroy(Object.assign(new Error("no answer"), { code: "silence" })),
    );
    sending.on("error", reject);
    sending.end(body);
  });
}

/** Announces the whole body, sends half of it and disconnects. */
async function sendTruncated(url: string, { method, path, headers, body }: RawRequest): Promise<void> {
  const { hostname, port } = new URL(url);
  const lines = Object.entries({ host: hostname, ...headers, "content-length": String(body.length) });
  const head = [`${method} ${path} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`), "", ""];
  const half = body.subarray(0, Math.floor(body.length / 2));
  await new Promise<void>((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(head.join("\r\n"));
      socket.write(half, () => socket.destroy());
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve());
  });
}
