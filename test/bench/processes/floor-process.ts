import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

/**
 * The minimum work of a gateway in Node, in a separate process: it receives a message on a WebSocket, makes one
 * streaming request to the model server with Node's own `fetch`, collects the text, and sends one message. Nothing is
 * stored, checked or looked up. Its argument is the model server's address.
 */
const [, , modelUrl] = process.argv;

interface SendFrame {
  params: { message: string; runId: string };
}

async function pass(socket: WebSocket, { params: { message, runId } }: SendFrame): Promise<void> {
  const response = await fetch(`${modelUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "instant", stream: true, messages: [{ role: "user", content: message }] }),
  });
  const decoder = new TextDecoder();
  let stream = "";
  for await (const chunk of response.body ?? []) stream += decoder.decode(chunk, { stream: true });
  const payload = { runId, state: "final", message: textOf(stream) };
  socket.send(JSON.stringify({ type: "evt", event: "chat", payload }));
}

/** The text of a stream of chat completion chunks. */
function textOf(stream: string): string {
  let text = "";
  for (const line of stream.split("\n")) {
    if (!line.startsWith("data: {")) continue;
    const { choices } = JSON.parse(line.slice("data: ".length)) as {
      choices: { delta: { content?: string | null } }[];
    };
    text += choices[0]?.delta.content ?? "";
  }
  return text;
}

process.on("disconnect", () => process.exit(0));
const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
server.on("connection", (socket) => {
  socket.on("message", (data) => {
    pass(socket, JSON.parse(String(data))).catch(() => socket.terminate());
  });
});
await once(server, "listening");
process.send?.({ url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}` });
