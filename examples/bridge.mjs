// A bridge connects a messenger that the gateway does not support itself. In this example the messenger is a
// program that reads and writes lines of JSON on this process's standard input and output:
//
//   in   {"id":"m1","peer":{"kind":"dm","id":"ann","name":"Ann"},"text":"hello"}
//   out  {"peer":{"kind":"dm","id":"ann"},"text":"Hello, Ann.","replyToId":"m1"}   {"peer":{…},"typing":true}
//
//   gsv token create my-bridge --scopes channel --channel mychat
//   GSV_URL=wss://… GSV_TOKEN=gsv_… node examples/bridge.mjs mychat
//
// Incoming messages are resent until the gateway has answered; only then would a real bridge acknowledge them
// to its platform. Outgoing messages are confirmed after they are written. Duplicates are detected by their
// ids. See docs/reference/protocol-extensions.md, "Bridges".
import { createInterface } from "node:readline";
import WebSocket from "ws";

const [channel, accountId = "default"] = process.argv.slice(2);
const { GSV_URL: url, GSV_TOKEN: token } = process.env;
if (!channel || !url || !token)
  throw new Error("usage: GSV_URL=… GSV_TOKEN=… bridge.mjs <channel> [account]");

/** Messages that the gateway has not answered yet, in order. Only the first has been sent. */
const incoming = [];
/** Ids of written messages, kept while the gateway may resend them. */
const written = new Set();
let socket;
let isConnected = false;
let attempts = 0;

/** API Gateway closes a socket that sends more than 32 KB in one frame, or 128 KB in one message. */
const [maxFrameBytes, maxLineBytes] = [31 * 1024, 126 * 1024];
function send(frame) {
  if (socket?.readyState !== WebSocket.OPEN) return;
  const bytes = Buffer.from(JSON.stringify(frame));
  for (let start = 0, end; start < bytes.length; start = end) {
    end = Math.min(start + maxFrameBytes, bytes.length);
    // Do not split a UTF-8 character.
    while ((bytes[end] & 0xc0) === 0x80) end--;
    socket.send(bytes.subarray(start, end), { binary: false, fin: end === bytes.length });
  }
}
const request = (id, method, params) => send({ type: "req", id, method, params });
const write = (line) => new Promise((done) => process.stdout.write(`${JSON.stringify(line)}\n`, done));

/**
 * Sends the messages one after the other, to keep their order. The gateway detects a duplicate by the
 * message's id.
 */
function sendNext() {
  const [next] = incoming;
  if (!isConnected || !next) return;
  const { peer, sender, wasMentioned, ...message } = next;
  request(`in:${next.id}`, "channel.inbound", { channel, accountId, peer, sender, wasMentioned, message });
}

function handleResponse({ id, ok, payload, error }) {
  if (id === "connect") {
    if (!ok) throw new Error(`refused: ${error.code} ${error.message}`);
    isConnected = true;
    attempts = 0;
    return sendNext();
  }
  if (id !== `in:${incoming[0]?.id}` || error?.retryable) return;
  process.stderr.write(`${id.slice(3)}: ${ok ? payload.status : `${error.code} ${error.message}`}\n`);
  incoming.shift();
  sendNext();
}

async function handleEvent(event, { peer, message, typing }) {
  if (event === "channel.typing") return write({ peer, typing });
  if (event !== "channel.outbound") return;
  const { id, text, replyToId, media } = message;
  if (!written.has(id)) await write({ peer, text, replyToId, media });
  written.add(id);
  request(`out:${id}`, "channel.delivered", { id });
}

function connect() {
  socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
  // API Gateway closes a connection after 10 idle minutes, and every connection after 2 hours.
  const ping = setInterval(() => socket.readyState === WebSocket.OPEN && socket.ping(), 240_000);
  const client = { id: "bridge", version: "1", platform: "example", mode: "channel", channel, accountId };
  const hello = { minProtocol: 1, client, capabilities: ["channel-receipts"] };
  socket.on("open", () => request("connect", "connect", hello));
  socket.on("message", (data) => {
    const frame = JSON.parse(data.toString());
    if (frame.type === "res") handleResponse(frame);
    if (frame.type === "evt") void handleEvent(frame.event, frame.payload);
  });
  socket.on("error", (error) => process.stderr.write(`${error.message}\n`));
  socket.on("close", () => {
    clearInterval(ping);
    isConnected = false;
    setTimeout(connect, Math.min(30_000, 500 * 2 ** attempts++));
  });
}

createInterface({ input: process.stdin }).on("line", (line) => {
  if (Buffer.byteLength(line) > maxLineBytes)
    return process.stderr.write(`skipped a line of more than ${maxLineBytes} bytes; send media by url\n`);
  incoming.push(JSON.parse(line));
  if (incoming.length === 1) sendNext();
});
// Resend the first unanswered message: its answer may have been lost.
setInterval(sendNext, 10_000);
connect();
