import { maxFrameBytes } from "../../../shared/protocol/frames.ts";
import { bridgeParams } from "../../support/bridge.ts";
import { clientParams, nodeParams, Peer } from "../../support/peer.ts";
import type { Report } from "../report.ts";
import type { Facts } from "../target/settle-in.ts";
import type { FrameCase } from "./draw-frame.ts";
import { type Mode, mayCall } from "./rights.ts";

/** Timeout for an answer, in milliseconds. A busy machine is much slower than an idle one. */
const answerMs = 60_000;

/** Frames in progress at the same time on one socket. */
const together = 8;

/** One attacker: a socket of a mode that sends frames and checks everything that it receives. */
export class Lane {
  private readonly url: string;
  private readonly facts: Facts;
  private readonly report: Report;
  private readonly mode: Mode;
  private readonly name: string;
  private peer: Peer | undefined;

  constructor(url: string, facts: Facts, report: Report, mode: Mode, name: string) {
    this.url = url;
    this.facts = facts;
    this.report = report;
    this.mode = mode;
    this.name = name;
  }

  /** Sends the cases in order, several at a time. */
  async run(cases: Iterable<FrameCase>): Promise<void> {
    let batch: FrameCase[] = [];
    for (const one of cases) {
      const isAlone = one.kind === "connect" || Buffer.byteLength(one.text) > maxFrameBytes;
      if (isAlone || batch.length >= (this.mode === "stranger" ? 1 : together)) {
        await this.send(batch);
        batch = [];
      }
      if (isAlone) await this.sendAlone(one);
      else batch.push(one);
    }
    await this.send(batch);
    this.peer?.socket.terminate();
  }

  private async send(batch: readonly FrameCase[]): Promise<void> {
    if (batch.length === 0) return;
    const peer = await this.connected();
    for (const one of batch) sendText(peer, one.text);
    await Promise.all(batch.map((one) => this.judge(peer, one)));
    this.checkReceived(peer, batch);
  }

  /** Sends on a new socket, because an invalid `connect` or a frame above the limit ends it. */
  private async sendAlone(one: FrameCase): Promise<void> {
    const peer = one.kind === "connect" ? await this.opened() : await this.connected();
    sendText(peer, one.text);
    await this.judge(peer, one);
    if (Buffer.byteLength(one.text) > maxFrameBytes)
      await peer.seen(() => peer.closed, "API Gateway closes for a message that is too large");
    this.checkReceived(peer, [one]);
    if (one.kind !== "connect") return;
    peer.socket.terminate();
    // The account's bridge has a newer connection, which ended this one.
    if (this.mode !== "bridge") return;
    this.peer?.socket.terminate();
    this.peer = undefined;
  }

  private async judge(peer: Peer, one: FrameCase): Promise<void> {
    this.report.sent(one);
    if (one.id === undefined) return;
    const sentAt = performance.now();
    const answer = await answerOf(peer, one.id);
    this.report.waited(performance.now() - sentAt);
    if (answer === "closed") {
      // API Gateway closes at its size limit. A stranger, or a socket whose `connect` failed, is closed too.
      const mayClose =
        this.mode === "stranger" || one.kind === "connect" || Buffer.byteLength(one.text) > maxFrameBytes;
      return mayClose ? this.report.answered("closed") : this.report.violation("closed", one, peer.closed);
    }
    if (answer === "silence")
      return this.report.violation("unanswered", one, `nothing in ${answerMs / 1000} s`);
    this.report.answered(answer.ok ? "ok" : String(answer.error?.code));
    if (answer.error?.code === 500) this.report.violation("500", one, answer.error);
    if (!answer.ok) return;
    const method = methodOf(one.text);
    const isConnected = one.kind === "connect" ? this.mode : undefined;
    if (!mayCall(isConnected ?? this.mode, method)) this.report.violation("rights", one, answer);
  }

  /** Checks newly received messages for secrets and for errors of API Gateway. */
  private checkReceived(peer: Peer, batch: readonly FrameCase[]): void {
    const { canaries, forOwner } = this.facts;
    const forbidden = canaries.filter((canary) => this.mode !== "client" || !forOwner.includes(canary));
    const [one] = batch;
    if (!one) return;
    const received = [...peer.responses, ...peer.events, ...peer.others];
    const text = JSON.stringify(received);
    for (const canary of forbidden)
      if (text.includes(canary)) this.report.violation("leak", one, `${canary} was received`);
    if (/"message":"(Internal server error|Endpoint request timed out)"/.test(text))
      this.report.violation("500", one, peer.others);
    for (const kept of [peer.responses, peer.events, peer.others]) kept.length = 0;
  }

  private async connected(): Promise<Peer> {
    if (this.peer && !this.peer.closed) return this.peer;
    this.peer = await this.opened();
    if (this.mode !== "stranger") await this.peer.call("connect", this.params());
    return this.peer;
  }

  private opened(): Promise<Peer> {
    const tokens: Record<Mode, string | undefined> = { ...this.facts.tokens, stranger: undefined };
    return Peer.open(this.url, tokens[this.mode]);
  }

  private params(): object {
    switch (this.mode) {
      case "bridge":
        return bridgeParams(this.facts.channel);
      case "node":
        return nodeParams(this.name, ["probe"]);
      default:
        return clientParams(this.name);
    }
  }
}

/** Size of a fragment of a message: API Gateway closes for a larger one. */
const partBytes = 32 * 1024;

function sendText({ socket }: Peer, text: string): void {
  const bytes = Buffer.from(text);
  let at = 0;
  do {
    const end = at + partBytes;
    socket.send(bytes.subarray(at, end), { binary: false, fin: end >= bytes.length });
    at = end;
  } while (at < bytes.length);
}

/** The response to an id, or that the socket was closed first, or that nothing came. */
async function answerOf(peer: Peer, id: string) {
  const find = () => peer.responses.find((response) => response.id === id) ?? (peer.closed && "closed");
  return peer.seen(find, `there is a response to ${id}`, answerMs).catch(() => "silence" as const);
}

function methodOf(text: string): string {
  return String((JSON.parse(text) as { method?: unknown }).method);
}
