import { buildAgentSessionKey } from "../../../shared/session/key/session-key.ts";
import {
  callWebhook,
  type PlatformCall,
  type PlatformReply,
  startPlatformServer,
} from "../../support/platforms/platform-server.ts";
import { eventIdOf, textUpdate } from "../../support/platforms/telegram/telegram-updates.ts";
import { drawFor } from "../draw.ts";
import { messageText } from "../faults/plan.ts";
import type { ClientRecord } from "./client.ts";

/** What a person sees in a chat with the bot. */
export interface Sent {
  chat: string;
  text: string;
}

/** A platform with the agent's bot, and the users who write to it. */
export interface ChaosChannel {
  /** The value of `channels.telegram`. */
  configuration: object;
  /** Every message that the platform accepted from the bot, in order. */
  sent: readonly Sent[];
  /** The session of a chat. */
  sessionOf(chat: number): string;
  /**
   * Sends a message as a user: the platform repeats it until the webhook accepts it, and sometimes once more. Resolves
   * when the bot has answered, or after a long silence.
   */
  send(chat: number, tag: string): Promise<void>;
  /** Ends faults and repeats. */
  calm(): void;
  close(): Promise<void>;
}

export interface ChaosChannelOptions {
  seed: number;
  /** Whether the platform fails, and repeats accepted messages. */
  restless: boolean;
  records: Map<string, ClientRecord>;
  /** The webhook's address, once it exists. */
  webhook(): string;
}

const account = { botToken: "7000000001:token-of-a-bot-in-no-network", webhookSecret: "a-secret-of-no-bot" };
/** All senders, as many as a list may name. They are owners because their runs use nodes. */
const owners = Array.from({ length: 1000 }, (_, chat) => String(chat));

/** A session for each sender; other scopes would use the main one. */
export const dmScope = "per-peer";

/** Pauses before an update is repeated, and how long a user waits for an answer. Milliseconds. */
const repeatMs = { min: 1000, max: 10_000 };
const patienceMs = 400_000;

/** Consecutive refusals of one message. A third would make the gateway give the delivery up. */
const maxRefusals = 2;

/** The part of Telegram that an answering bot needs. */
export async function startChaosChannel(options: ChaosChannelOptions): Promise<ChaosChannel> {
  const { seed, records } = options;
  const sent: Sent[] = [];
  const tries = new Map<string, number>();
  let updates = 0;
  let calm = !options.restless;

  const take = ({ path, body }: PlatformCall): PlatformReply => {
    if (!path.endsWith("/sendMessage")) return taken(true);
    const message = { chat: String(body?.chat_id), text: String(body?.text) };
    const name = JSON.stringify(message);
    const number = tries.get(name) ?? 0;
    tries.set(name, number + 1);
    const draw = drawFor(seed, "platform", name, number);
    if (calm || number >= maxRefusals || !draw.chance(0.15)) {
      sent.push(message);
      return taken({ message_id: sent.length });
    }
    const fault = draw.pick(["busy", "broken", "lost before", "lost after"] as const);
    if (fault === "busy") return refused(429, { parameters: { retry_after: 1 + draw.integer(5) } });
    if (fault === "broken") return refused(502);
    if (fault === "lost after") sent.push(message);
    throw new Error("the line is cut");
  };
  const server = await startPlatformServer(take);

  /** @returns whether the webhook accepted it */
  const bring = async (update: object): Promise<boolean> => {
    const headers = {
      "content-type": "application/json",
      "x-telegram-bot-api-secret-token": account.webhookSecret,
    };
    const request = { method: "POST", path: "/telegram/default", headers, body: JSON.stringify(update) };
    const answer = await callWebhook(options.webhook(), request).catch(() => undefined);
    return answer?.status === 200;
  };

  return {
    configuration: {
      dmPolicy: "open",
      owners,
      accounts: { default: { ...account, apiBaseUrl: server.url } },
    },
    sent,
    sessionOf,
    async send(chat, tag) {
      const draw = drawFor(seed, "update", tag);
      const update = textUpdate(messageText(tag), { from: { id: chat }, updateId: ++updates });
      const runId = `telegram:default:${eventIdOf(update)}`;
      const record: ClientRecord = {
        runId,
        sessionKey: sessionOf(chat),
        acknowledged: false,
        finals: [],
        errors: [],
        chat: String(chat),
      };
      records.set(tag, record);
      const before = sent.filter((one) => one.chat === record.chat).length;
      while (!(await bring(update))) await pause(draw.between(repeatMs.min, repeatMs.max));
      record.acknowledged = true;
      if (options.restless && draw.chance(0.3)) {
        const again = () => (calm ? undefined : void bring(update));
        setTimeout(again, draw.between(0, 60_000));
      }
      const deadline = Date.now() + patienceMs;
      const isAnswered = () => sent.filter((one) => one.chat === record.chat).length > before;
      while (!isAnswered() && Date.now() < deadline) await pause(1000);
    },
    calm() {
      calm = true;
    },
    close: server.close,
  };
}

function sessionOf(chat: number): string {
  return buildAgentSessionKey({
    agentId: "main",
    channel: "telegram",
    peer: { kind: "dm", id: String(chat) },
    dmScope,
  });
}

/** The session of an update, read from the webhook's request body; undefined for anything else. */
export function sessionOfUpdate(body: unknown): string | undefined {
  const chat = /"chat":\{[^}]*"id":(\d+)/.exec(String(body))?.[1];
  return chat === undefined ? undefined : sessionOf(Number(chat));
}

function taken(result: unknown): PlatformReply {
  return { status: 200, body: { ok: true, result } };
}

function refused(status: number, more: object = {}): PlatformReply {
  return { status, body: { ok: false, error_code: status, description: "not now", ...more } };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
