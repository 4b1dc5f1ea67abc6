import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import type { DiscordServer } from "./discord-server.ts";

/** A user's message, as far as a test sets it. */
export interface UserMessage {
  content: string;
  channel_id?: string;
  guild_id?: string;
  [field: string]: unknown;
}

interface Session {
  /** The events from its first one on; the number of the first is 1. */
  events: string[];
  /** What it asked for (https://docs.discord.com/developers/events/gateway#gateway-intents). */
  intents: number;
  socket?: WebSocket;
}

/** Who reacts, Ann by default, and whose message it is. */
interface Reaction {
  isRemoved?: boolean;
  user_id?: string;
  message_author_id?: string;
}

/** Discord's gateway of one bot. */
export interface DiscordGateway {
  /** How sessions began: `identify`, `resume`, `refused`. */
  begun: string[];
  /** A user writes: the message is kept, and every session gets the event. @returns its id */
  write(message: UserMessage): string;
  /** The message changes: its user edits it, or its links get previews. */
  change(id: string, fields: Record<string, unknown>): void;
  /** A user reacts to a message of the bot, or takes the reaction back. */
  react(message: { id: string; channel_id: string }, emoji: string, change?: Reaction): void;
  /** Ends all sessions, as Discord does after some minutes without a connection. */
  endSessions(): void;
  /** Cuts every connection. */
  cut(): void;
  close(): Promise<void>;
}

const annId = "80351110224678912";
const op = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  resume: 6,
  invalidSession: 9,
  hello: 10,
  heartbeatAck: 11,
};

/**
 * Discord's gateway on 127.0.0.1 (https://docs.discord.com/developers/events/gateway), for the bot of `server`, whose REST API
 * then names it. A resumed session gets the events after the number that it names.
 */
export async function startDiscordGateway(server: DiscordServer): Promise<DiscordGateway> {
  const http = createServer();
  const sockets = new WebSocketServer({ server: http });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const url = `ws://127.0.0.1:${(http.address() as AddressInfo).port}`;
  server.gateway.url = url;
  const sessions = new Map<string, Session>();
  const begun: string[] = [];
  let made = 0;
  const dispatch = (session: Session, t: string, d: unknown) => {
    const event = JSON.stringify({ op: op.dispatch, t, d, s: session.events.length + 1 });
    session.events.push(event);
    session.socket?.send(event);
  };
  const begin = (socket: WebSocket, { op: kind, d }: { op: number; d: Record<string, unknown> }) => {
    if (kind === op.heartbeat) return socket.send(JSON.stringify({ op: op.heartbeatAck }));
    if (d?.token !== server.botToken) return socket.close(4004, "Authentication failed.");
    if (kind === op.identify) {
      const id = `session-${++made}`;
      const session: Session = { events: [], intents: Number(d.intents), socket };
      sessions.set(id, session);
      begun.push("identify");
      return dispatch(session, "READY", {
        session_id: id,
        resume_gateway_url: url,
        user: { id: server.applicationId },
      });
    }
    const session = sessions.get(String(d.session_id));
    begun.push(session ? "resume" : "refused");
    if (!session) return socket.send(JSON.stringify({ op: op.invalidSession, d: false }));
    session.socket = socket;
    for (const event of session.events.slice(Number(d.seq))) socket.send(event);
    return socket.send(JSON.stringify({ op: op.dispatch, t: "RESUMED", d: {}, s: session.events.length }));
  };
  sockets.on("connection", (socket) => {
    socket.on("error", () => {});
    socket.on("message", (data) => begin(socket, JSON.parse(String(data))));
    socket.on("close", () => {
      for (const session of sessions.values()) if (session.socket === socket) session.socket = undefined;
    });
    socket.send(JSON.stringify({ op: op.hello, d: { heartbeat_interval: 40_000 } }));
  });
  return {
    begun,
    write({ channel_id = "5001", ...message }) {
      const author = { id: annId, username: "ann", global_name: "Ann" };
      const whole = {
        id: server.gateway.nextId(),
        channel_id,
        author,
        mentions: [],
        attachments: [],
        ...message,
      };
      server.gateway.written.push(whole);
      for (const session of sessions.values()) dispatch(session, "MESSAGE_CREATE", whole);
      return whole.id;
    },
    change(id, fields) {
      const found = server.gateway.written.find((one) => one.id === id);
      for (const session of sessions.values())
        dispatch(session, "MESSAGE_UPDATE", Object.assign(found ?? {}, fields));
    },
    react({ id, channel_id }, emoji, { isRemoved = false, user_id = annId, ...more } = {}) {
      const found = { user_id, channel_id, message_id: id, emoji: { id: null, name: emoji }, type: 0 };
      const author = isRemoved ? {} : { message_author_id: server.applicationId, ...more };
      const name = isRemoved ? "MESSAGE_REACTION_REMOVE" : "MESSAGE_REACTION_ADD";
      const intent = server.gateway.channels.has(channel_id) ? 1 << 10 : 1 << 13;
      for (const session of sessions.values())
        if (session.intents & intent) dispatch(session, name, { ...found, ...author });
    },
    endSessions: () => sessions.clear(),
    cut() {
      for (const socket of sockets.clients) socket.terminate();
    },
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      http.close();
      http.closeAllConnections();
      await once(http, "close");
    },
  };
}
