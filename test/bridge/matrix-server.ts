import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

interface MatrixEvent {
  type: string;
  event_id: string;
  sender: string;
  content: Record<string, unknown>;
}

/** A Matrix homeserver with one room of two members, the bot and Ann (https://spec.matrix.org/latest/client-server-api). */
export interface MatrixServer {
  url: string;
  token: string;
  /** The bot's messages. A transaction's id makes one, however often it is sent. */
  sent: Record<string, unknown>[];
  /** Ann writes a text. */
  write(text: string): void;
  close(): Promise<void>;
}

const [bot, ann, room] = ["@gsv:example.org", "@ann:example.org", "!house:example.org"];

export async function startMatrixServer(): Promise<MatrixServer> {
  const token = "syt_bot";
  const events: MatrixEvent[] = [];
  const sent = new Map<string, Record<string, unknown>>();
  let wake = () => {};
  const add = (sender: string, content: Record<string, unknown>) => {
    events.push({ type: "m.room.message", event_id: `$${events.length}`, sender, content });
    wake();
  };
  const answers: [RegExp, (found: RegExpExecArray, body: string) => object | Promise<object>][] = [
    [/^GET account\/whoami$/, () => ({ user_id: bot })],
    [/^GET rooms\/(.+)\/joined_members$/, () => ({ joined: { [bot]: {}, [ann]: { display_name: "Ann" } } })],
    [
      /^PUT rooms\/(.+)\/send\/m\.room\.message\/(.+)$/,
      ([, , id = ""], body) => {
        if (!sent.has(id)) add(bot, JSON.parse(body));
        sent.set(id, JSON.parse(body));
        return { event_id: "$sent" };
      },
    ],
    [
      /^GET sync(?:\?timeout=30000&since=(\d+))?$/,
      async ([, since]) => {
        if (since === String(events.length)) await new Promise<void>((done) => (wake = done));
        const timeline = { events: events.slice(Number(since ?? 0)) };
        return { next_batch: String(events.length), rooms: { join: { [room]: { timeline } } } };
      },
    ],
  ];
  const server = createServer(async (request, response) => {
    const path = `${request.method} ${request.url?.replace("/_matrix/client/v3/", "")}`;
    const body = (await request.toArray()).join("");
    const isKnown = request.headers.authorization === `Bearer ${token}`;
    const [answer] = answers.flatMap(([pattern, act]) => {
      const found = pattern.exec(path);
      return found && isKnown ? [act(found, body)] : [];
    });
    response.writeHead(answer ? 200 : isKnown ? 404 : 401);
    response.end(JSON.stringify((await answer) ?? { errcode: "M_UNKNOWN" }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token,
    get sent() {
      return [...sent.values()];
    },
    write: (text) => add(ann, { msgtype: "m.text", body: text }),
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
