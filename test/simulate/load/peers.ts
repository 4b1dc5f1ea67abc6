import type { Gateway } from "../../../functions/socket/gateway.ts";
import { answerRequest } from "../../../shared/approvals/answer.ts";
import { createActivity } from "../../../shared/channels/activity.ts";
import type { Channels } from "../../../shared/channels/channel.ts";
import { handleInbound, type Inbound } from "../../../shared/channels/inbound/inbound.ts";
import type { Configuration } from "../../../shared/configuration/schema.ts";
import { storeMedia } from "../../../shared/media/media-store.ts";
import { createBroadcast } from "../../../shared/peers/broadcast.ts";
import { type Frame, transferCapability } from "../../../shared/protocol/frames.ts";
import type { Intake } from "../../../shared/session/intake.ts";
import type { Item, World } from "../../../shared/world/world.ts";
import type { Random } from "../../support/random.ts";
import type { Timeline } from "../engine/timeline.ts";
import { present, type Release } from "../release/present.ts";
import type { Ledger } from "../verdict/ledger.ts";
import type { Faults } from "../world/faults.ts";
import type { Functions } from "../world/functions.ts";
import { openChannels, type Sent } from "../world/platform.ts";
import type { UserAction } from "./actions.ts";
import { textOfScript } from "./script.ts";

/** A peer repeats a request without an answer after this time. Milliseconds. */
const patienceMs = 30_000;

/** Maximum number of attempts for a request. */
const maxTries = 5;

const picture = Buffer.from("\x89PNG\r\n\x1a\n0000", "latin1");

const bridgePeer = "brg:default";
const token = "simulated";

/** The peers, always connected, as items of the table. */
export const connectedPeers: Item[] = [
  ["PEER#client", "c", "client", "c-1"],
  ["PEER#node", "n", "node", "n-1"],
  ["PEER#channel", bridgePeer, "channel", "b-1"],
].map(([pk = "", sk = "", mode = "", connectionId = ""]) => ({
  ...{
    pk,
    sk,
    id: sk,
    mode,
    connectionId,
    tokenId: token,
    expiresAt: 9_999_999_999,
    connectedAt: 0,
    openedAt: 0,
  },
  ...{ version: "1", platform: "simulation" },
  ...(mode === "node"
    ? {
        tools: [{ name: "probe", description: "", inputSchema: { type: "object" } }],
        capabilities: [transferCapability],
      }
    : { capabilities: ["channel-receipts"] }),
}));

/** The token of all peers. */
export const peersToken: Item = {
  ...{ pk: "TOKEN", sk: token, hash: "", name: token, createdAt: 0 },
  scopes: ["client", "node", "channel", "admin"],
};

/** The bridge has connected once before, so it is known. */
export const knownBridge: Item = {
  ...{ pk: "BRIDGE", sk: "brg#default", channel: "brg", accountId: "default" },
  ...{ attachedAt: 0, expiresAt: 9_999_999_999 },
};

/** The work of a request. */
type Work = (world: World) => Promise<unknown>;

export interface PeerSurroundings {
  timeline: Timeline;
  faults: Faults;
  random: Random;
  functions: Functions;
  ledger: Ledger;
  channels: Channels;
  configuration: Configuration;
  /** Messages that arrived at platforms and bridges. */
  sent: Sent;
  tell(who: string, what: string): void;
}

/** Users at their clients and messengers, a node, and a bridge. */
export class Peers {
  /** Requests in progress. */
  busy = 0;
  private isAttaching = false;

  private readonly around: PeerSurroundings;
  private readonly unchanged = { load: async () => this.around.configuration, version: () => 1 };

  constructor(around: PeerSurroundings) {
    this.around = around;
  }

  /** Performs a user's action, and repeats it until it is answered. */
  async perform(action: UserAction, number: number): Promise<void> {
    const { ledger } = this.around;
    const id = idOf(action, number);
    if (action.kind === "message") ledger.messages++;
    const release = action.via === "client" ? this.around.functions.release() : present;
    const sentAt = this.around.timeline.now;
    const submit: Work = (world) => this.submit(world, release, action, number, sentAt);
    const isAnswered = await this.insist(id, submit, release);
    // The answer to a stop does not mean that an inbox accepted an entry.
    if (isAnswered && action.kind !== "stop") ledger.acknowledged.add(id);
  }

  /** Repeats a request until it is answered, and sometimes once more. @returns whether it was answered */
  async insist(name: string, work: Work, release = present): Promise<boolean> {
    const { faults, timeline } = this.around;
    this.busy++;
    let isAnswered = false;
    for (let tries = 0; tries < maxTries; tries++) {
      const isNow = await this.ask(name, work, release);
      isAnswered ||= isNow;
      if (isNow && !faults.draw(["duplicates"], 8)) break;
      await timeline.pass(faults.between(500, 60_000));
    }
    this.busy--;
    return isAnswered;
  }

  /** @returns whether a successful answer came in time */
  private ask(name: string, work: Work, release = present): Promise<boolean> {
    const { functions, timeline, tell } = this.around;
    const answered = functions.request(name, work, release).then(
      () => true,
      (error: unknown) => {
        tell(name, `failed: ${error}`);
        return false;
      },
    );
    return Promise.race([answered, timeline.pass(patienceMs).then(() => false)]);
  }

  private async submit(
    world: World,
    { submitEntry, submitMessage }: Release,
    action: UserAction,
    number: number,
    sentAt: number,
  ): Promise<unknown> {
    const intake = this.intakeOf(world);
    const id = idOf(action, number);
    if (action.via !== "client") return this.takeFromChannel(world, action, number, sentAt);
    const sessionKey = `agent:main:${action.session}`;
    const target = { sessionKey, id: JSON.stringify([id, 0]), now: world.now() };
    const image = { type: "image", mimeType: "image/png", body: picture } as const;
    const hasImage = action.kind === "message" && action.hasImage;
    const media = hasImage ? [await storeMedia(world.bucket, target, image)] : [];
    const origin = { kind: "client", connectionId: "c-1", requestId: id } as const;
    const change = changeOf(action);
    if (change) return submitEntry(intake, sessionKey, { id, at: world.now(), origin, ...change });
    return submitMessage(intake, sessionKey, { id, text: textOf(action), media, origin, writer: {} });
  }

  /** What accepts messages of the platform and the bridge on a machine. By default, nobody changes the configuration. */
  inboundOf(world: World, configuration: Inbound["configuration"] = this.unchanged): Inbound {
    const { sender } = openChannels(world, this.around.channels, configuration);
    const activity = createActivity(world.table, world.now);
    return { ...this.intakeOf(world), configuration, sender, activity, bucket: world.bucket };
  }

  private takeFromChannel(
    world: World,
    action: UserAction,
    number: number,
    timestamp: number,
  ): Promise<unknown> {
    const peer = { kind: "dm", id: "me" } as const;
    const hasImage = action.kind === "message" && action.hasImage;
    const enclosed = [{ type: "image", mimeType: "image/png", data: picture.toString("base64") }] as const;
    return handleInbound(this.inboundOf(world), addressOf(action), {
      ...{ eventId: `e${number}`, messageId: `e${number}`, peer, sender: { id: "me" } },
      ...{ text: textOf(action), timestamp, wasMentioned: true },
      ...(hasImage ? { enclosed: [...enclosed] } : {}),
    });
  }

  /** What accepts messages on a machine. */
  intakeOf({ table, wake, now }: World): Intake {
    return { table, wake, now, configuration: this.unchanged };
  }

  /** What accepts a node's results on a machine. */
  private gatewayOf(world: World): Gateway {
    const broadcast = createBroadcast(world.table, world.sockets, world.now);
    return { ...this.intakeOf(world), bucket: world.bucket, broadcast } as unknown as Gateway;
  }

  /** Handles a frame that reached a connection. */
  receive(connectionId: string, frame: Frame): "sent" | "gone" {
    const { ledger } = this.around;
    if (frame.type === "res") ledger.responses.push(frame.id);
    if (frame.type !== "evt") return "sent";
    const payload = frame.payload as Record<string, unknown>;
    const { state, runId } = payload;
    if (frame.event === "chat" && (state === "final" || state === "error"))
      ledger.add(ledger.told, String(runId), state);
    if (connectionId === "n-1" && !frame.event.startsWith("transfer."))
      void this.answerCall(String(payload.callId));
    if (frame.event === "channel.outbound") {
      const { id, text } = payload.message as { id: string; text: string };
      const { sent } = this.around;
      // While the bridge attaches, both the sender and the attachment may post a waiting message.
      if (!this.isAttaching || sent.every((one) => one.id !== id)) sent.push({ id, text });
      void this.confirm(id);
    }
    return "sent";
  }

  /** The node runs a tool and sends the result: late, twice, or never. */
  private async answerCall(callId: string): Promise<void> {
    const { faults, timeline, random, functions } = this.around;
    this.busy++;
    const fault = faults.draw(["silent", "late", "double"], 8);
    await timeline.pass(fault === "late" ? faults.between(30_000, 90_000) : 20 + random.integer(2_000));
    const result = random.integer(4) === 0 ? "found ".repeat(600) : "found";
    for (let tries = 0; fault !== "silent" && tries < maxTries; tries++) {
      const release = functions.release();
      const accept: Work = (world) => release.acceptResult(this.gatewayOf(world), "n", callId, { result });
      if ((await this.ask("node", accept, release)) && (fault !== "double" || tries > 0)) break;
      await timeline.pass(faults.between(500, 10_000));
    }
    this.busy--;
  }

  /** The owner finds an open request in a list, and allows it. */
  async allow(requestId: string): Promise<void> {
    const { timeline, faults } = this.around;
    await timeline.pass(faults.between(1_000, 60_000));
    await this.insist("owner", (world) => {
      const answer = { decision: "allow", scope: "once", by: "client c", at: world.now() } as const;
      return answerRequest(world, requestId, answer);
    });
  }

  /** The bridge reconnects, as every connection must from time to time, and receives what waits for it. */
  async reconnectBridge(): Promise<void> {
    const { channels, timeline } = this.around;
    const attach = async (world: World) => {
      const bridge = connectedPeers.find(({ mode }) => mode === "channel") as Item;
      await world.table.put({ ...bridge, pk: "PEER#channel", sk: bridgePeer, connectionId: "b-2" });
      const { bridges } = openChannels(world, channels, this.intakeOf(world).configuration);
      await bridges.attached({ channel: "brg", accountId: "default" });
    };
    // By now, earlier requests have ended.
    await timeline.pass(60_000);
    this.isAttaching = true;
    await this.ask("bridge", attach);
    this.isAttaching = false;
  }

  /** The bridge sends the receipt of a message. */
  private async confirm(id: string): Promise<void> {
    const { timeline, random, channels } = this.around;
    this.busy++;
    const address = { channel: "brg", accountId: "default" };
    for (let tries = 0; tries < maxTries; tries++) {
      await timeline.pass(10 + random.integer(500));
      const deliver = (world: World) =>
        openChannels(world, channels, this.intakeOf(world).configuration).bridges.delivered(address, { id });
      if (await this.ask("bridge", deliver)) break;
    }
    this.busy--;
  }
}

function addressOf({ via }: UserAction) {
  return { channel: via === "bridge" ? "brg" : "sim", accountId: "default" };
}

/** The id of a request, the same at every attempt. */
function idOf(action: UserAction, number: number): string {
  if (action.via === "client") return `${action.kind}-${number}`;
  const { channel, accountId } = addressOf(action);
  return `${channel}:${accountId}:e${number}`;
}

/** The change of the context that an action requests; undefined for a text. */
function changeOf(action: UserAction) {
  switch (action.kind) {
    case "activate":
    case "deactivate":
      return { kind: action.kind, object: action.object, via: "method" } as const;
    case "pin":
      return { kind: action.kind, object: action.object, pinned: true, via: "method" } as const;
    default:
      return undefined;
  }
}

function textOf(action: UserAction): string {
  switch (action.kind) {
    case "message":
      return textOfScript(action.script);
    case "compact":
      return `/compact ${action.keep}`;
    default:
      return `/${action.kind}`;
  }
}
