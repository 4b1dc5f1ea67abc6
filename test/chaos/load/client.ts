import { Conversation } from "../../../cli/chat/conversation.ts";
import { Connection } from "../../../cli/gateway/connection.ts";
import type { Gateway } from "../../../cli/gateway/gateway-client.ts";
import type { ChatEvent } from "../../../shared/protocol/events.ts";
import { clientParams } from "../../support/peer.ts";
import type { Draw } from "../draw.ts";
import { messageText, tagOf } from "../faults/plan.ts";
import { type ChaosPeer, peerTiming, watchPeer } from "./peer.ts";

/** What clients sent and received for one message. */
export interface ClientRecord {
  /** The run's id, once the message was sent. */
  runId: string;
  sessionKey: string;
  /** Whether the gateway acknowledged it. */
  acknowledged: boolean;
  /** Texts of the final events and of the error events. */
  finals: string[];
  errors: string[];
  /** How the client reported the end to its user. */
  outcome?: string;
  /** The chat of a message from the channel. */
  chat?: string;
}

export interface ChaosClient extends ChaosPeer {
  /** Sends a message as `gsv client` does, and waits until the client has reported its end. */
  send(sessionKey: string, tag: string): Promise<void>;
}

export interface ChaosClientOptions {
  url: string;
  token: string;
  clientId: string;
  /** By tag. Shared by all clients: each receives the events of every run. */
  records: Map<string, ClientRecord>;
  /** Whether to send an accepted message again. */
  repeats(tag: string): Draw | undefined;
}

/** A client as the command line runs it: a connection and conversations that repeat requests and look up answers. */
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

/** The gateway as conversations use it; records the messages that they send. */
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
