import { Conversation } from "../../../cli/chat/conversation.ts";
import { Connection } from "../../../cli/gateway/connection.ts";
import type { Gateway } from "../../../cli/gateway/gateway-client.ts";
import type { ChatEvent } from "../../../shared/protocol/events.ts";
import { clientParams } from "../../support/peer.ts";
import type { Draw } from "../draw.ts";
import { messageText, tagOf } from "../faults/plan.ts";
import { type ChaosPeer, peerTiming, watchPeer } from "./peer.ts";

/** What clients have sent and heard, by the tag of the message. */
export interface ClientRecord {
  /** The run's id, once it was sent. */
  runId: string;
  sessionKey: string;
  /** Whether the gateway has said that it was taken. */
  acknowledged: boolean;
  /** Texts of the final events and of the error events that came. */
  finals: string[];
  errors: string[];
  /** What the client told its user in the end. */
  outcome?: string;
  /** The chat that the message came from, where it is not a client's. */
  chat?: string;
}

export interface ChaosClient extends ChaosPeer {
  /** Sends a message as `gsv client` does and waits until the client has told its user how it ended. */
  send(sessionKey: string, tag: string): Promise<void>;
}

export interface ChaosClientOptions {
  url: string;
  token: string;
  clientId: string;
  /** Shared by all clients: each hears of every run. */
  records: Map<string, ClientRecord>;
  /** Whether a message that was taken is sent once more. */
  repeats(tag: string): Draw | undefined;
}

/** A client as the command line runs it: its connection, and its conversations, which send again and look up. */
export async function startChaosClient(options: ChaosClientOptions): Promise<ChaosClient> {
  const { url, token, clientId, records } = options;
  const { client } = clientParams(clientId);
  const connection = new Connection({
    url,
    token,
    client: { ...client, mode: "client" },
    timing: peerTiming,
  });
  const peer = watchPeer(connection, "client", clientId);
  connection.onEvent("chat", (event) => hear(records, event));
  const hello = await connection.open();
  const gateway = recording(connection, hello, options);
  const conversations = new Map<string, Conversation>();
  return {
    ...peer,
    async send(sessionKey, tag) {
      const conversation = conversations.get(sessionKey) ?? new Conversation(gateway, sessionKey);
      conversations.set(sessionKey, conversation);
      const { status, error } = await conversation.send(messageText(tag), () => undefined);
      const record = records.get(tag);
      if (record) record.outcome = error === undefined ? status : `${status}: ${error}`;
    },
    async close() {
      for (const conversation of conversations.values()) conversation.close();
      await peer.close();
    },
  };
}

function hear(records: Map<string, ClientRecord>, event: ChatEvent): void {
  if (event.state !== "final" && event.state !== "error") return;
  const record = [...records.values()].find(({ runId }) => runId === event.runId);
  if (event.state === "error") record?.errors.push(event.error);
  else record?.finals.push(JSON.stringify(event.message.content));
}

/** The gateway as conversations use it, with what is sent written down. */
function recording(
  connection: Connection,
  hello: Gateway["hello"],
  { url, records, repeats }: ChaosClientOptions,
): Gateway {
  const request: Gateway["request"] = async (method, params, timeoutMs) => {
    const sent =
      method === "chat.send" ? (params as { sessionKey: string; message: string; runId: string }) : undefined;
    const tag = sent && tagOf(sent.message);
    if (sent && tag !== undefined && !records.has(tag)) {
      const { runId, sessionKey } = sent;
      records.set(tag, { runId, sessionKey, acknowledged: false, finals: [], errors: [] });
    }
    const answer = await connection.request(method, params, { timeoutMs });
    const record = tag === undefined ? undefined : records.get(tag);
    if (record) {
      record.acknowledged = true;
      const again = repeats(String(tag));
      if (again)
        setTimeout(() => connection.request(method, params).catch(() => undefined), again.between(0, 20_000));
    }
    return answer;
  };
  return {
    url,
    hello,
    get state() {
      return connection.state;
    },
    request,
    upload: (bytes) => connection.upload(bytes),
    onEvent: (event, handler) => connection.onEvent(event, handler),
    onState: (handler) => connection.onState(handler),
    close: () => connection.close(),
  };
}
