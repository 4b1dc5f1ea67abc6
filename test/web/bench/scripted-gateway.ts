import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type WebSocket, WebSocketServer } from "ws";
import { createPageHandler } from "../../../functions/page/page-handler.ts";
import { startFunctionUrl } from "../../../local/http/function-url.ts";
import { pageFolder } from "../../../local/page-folder.ts";

const mainSession = "agent:main:main";
/** A session with the same messages. */
export const otherSession = "agent:main:other";

export interface ScriptedGateway {
  /** Address of the page. */
  url: string;
  /** Sends these pieces of an answer as deltas. */
  stream(pieces: readonly string[]): Promise<void>;
  /** Ends the answer. */
  end(): void;
  close(): Promise<void>;
}

/** Serves the page, and answers it from a script, so that only the page uses the machine. @param count messages of its session */
export async function startScriptedGateway(count: number): Promise<ScriptedGateway> {
  const folder = mkdtempSync(join(tmpdir(), "gsv-page-bench-"));
  const messages = Array.from({ length: count }, (_, index) => message(index + 1));
  const sockets = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(sockets, "listening");
  const ws = `ws://127.0.0.1:${(sockets.address() as AddressInfo).port}`;
  /** Pieces of the answer in progress. */
  const sent: string[] = [];
  sockets.on("connection", (socket) =>
    socket.on("message", (data) => {
      const { id, method, params } = JSON.parse(String(data));
      const payload = answer(method, params ?? {}, messages, sent.length > 0);
      socket.send(JSON.stringify({ type: "res", id, ok: true, payload }));
    }),
  );
  const handler = createPageHandler(() => pageFolder(join(folder, "page")), {
    ws,
    objects: "http://127.0.0.1:*",
  });
  const context = { awsRequestId: "bench" } as never;
  const page = await startFunctionUrl({ invoke: (event) => handler(event as never, context), pages: true });
  const open = () => {
    const [socket] = sockets.clients;
    if (!socket) throw new Error("no page is connected");
    return socket;
  };
  return {
    url: page.url,
    // Ten pieces each 10 ms: an answer of 3,000 pieces arrives in three seconds.
    stream: async (pieces) => {
      for (const text of pieces) {
        const seq = sent.push(text) - 1;
        sendEvent(open(), { state: "delta", text, seq, step: 0, attempt: 0 });
        if (seq % 10 === 9) await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    end: () => {
      const content = [{ type: "text", text: sent.splice(0).join("") }];
      const message = { role: "assistant", content, timestamp: Date.now() };
      // The page reads the session when the answer is complete.
      messages.push({
        ...message,
        seq: messages.length + 1,
        usage: { cost: 0.01 },
      } as (typeof messages)[number]);
      sendEvent(open(), { state: "final", message });
    },
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      await page.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Markdown of about 60 KB in so many pieces. */
export function longAnswer(pieceCount: number): string[] {
  const part = (index: number) =>
    [
      `## Part ${index}\n\nSome *words* about part ${index} with \`code\`, a [link](https://example.com/${index}) and **weight**. `,
      "They go on for a while, as an answer does, until the paragraph ends.\n\n- one item\n- another item\n  - a nested one\n\n",
      `\`\`\`ts\nfor (let index = 0; index < ${index}; index++) {\n  console.log("line", index);\n}\n\`\`\`\n\n`,
      `| name | value |\n|---|---|\n| a | ${index} |\n| b | ${index * 2} |\n\n`,
    ].join("");
  let text = "";
  for (let index = 1; text.length < 60_000; index++) text += part(index);
  const size = Math.ceil(text.length / pieceCount);
  return Array.from({ length: pieceCount }, (_, index) => text.slice(index * size, (index + 1) * size));
}

function message(seq: number) {
  const base = { seq, timestamp: 1_790_000_000_000 + seq * 1000 };
  if (seq % 2 === 1) return { ...base, role: "user", content: `Question ${seq}: how is the *build* doing?` };
  const text = `## Answer ${seq}\n\nThe build is **green**. Three things:\n\n- one\n- two with \`code\`\n- three\n\n\`\`\`ts\nconst answer = ${seq};\n\`\`\`\n`;
  return { ...base, role: "assistant", content: [{ type: "text", text }], usage: { cost: 0.01 } };
}

function answer(
  method: string,
  params: { sessionKey?: string; limit?: number; before?: number },
  messages: readonly { seq: number }[],
  isProcessing: boolean,
) {
  if (method === "connect") return { protocol: 1, auth: { token: "gsv_bench" } };
  if (method === "session.preview") {
    const older = messages.filter(({ seq }) => seq < (params.before ?? Number.POSITIVE_INFINITY));
    const sessionKey = params.sessionKey === otherSession ? otherSession : mainSession;
    return { sessionKey, sessionId: sessionKey, first: 1, messages: older.slice(-(params.limit ?? 50)) };
  }
  if (method === "session.stats") return { isProcessing, queueSize: 0 };
  if (method === "sessions.list") return { sessions: [] };
  if (method === "approval.list") return { approvals: [] };
  if (method === "session.context") return { model: "scripted/model" };
  if (method === "session.get") return { settings: {} };
  return {};
}

function sendEvent(socket: WebSocket, chat: object): void {
  const payload = { runId: "r-1", sessionKey: mainSession, ...chat };
  socket.send(JSON.stringify({ type: "evt", event: "chat", payload }));
}
