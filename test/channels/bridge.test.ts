import { beforeEach, describe, expect, it } from "vitest";
import { createMemoryTable } from "../../local/world/local-table.ts";
import { createActivity, readActivity } from "../../shared/channels/activity.ts";
import {
  type BridgeOptions,
  type Bridges,
  bridgeId,
  openBridges,
} from "../../shared/channels/bridge/bridge.ts";
import type { ChannelOrigin, OutboundFile, OutboundText } from "../../shared/channels/channel.ts";
import { channels } from "../../shared/channels/channels.ts";
import { createChannelSender } from "../../shared/channels/outbound/sender.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import { bindPeer, openConnection } from "../../shared/peers/registry.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import type { EventFrame } from "../../shared/protocol/frames.ts";
import type { Table } from "../../shared/world/world.ts";
import { type Around, aroundWrites, deathAt } from "./fixture.ts";

const address = { channel: "signal", accountId: "default" };
const origin: ChannelOrigin = {
  kind: "channel",
  ...address,
  peer: { kind: "dm", id: "ann" },
  replyToId: "m1",
};
let table: Table;
let clock: number;
/** Posted frames, by connection. */
let posted: { connectionId: string; event: string; payload: Record<string, unknown> }[];
let post: BridgeOptions["sockets"]["post"];
let owners: string[];

beforeEach(() => {
  table = createMemoryTable();
  clock = 1_800_000_000_000;
  posted = [];
  owners = ["ann"];
  post = async (connectionId, frame) => {
    const { event, payload } = frame as EventFrame;
    posted.push({ connectionId, event, payload: payload as Record<string, unknown> });
    return "sent";
  };
});

const now = () => clock;
const ids = () =>
  posted
    .filter(({ event }) => event === "channel.outbound")
    .map(({ payload }) => (payload.message as { id: string }).id);

/** The dependencies of a process, with a hook around every write and post. */
function processOf(around: Around = (_step, go) => go()): {
  bridges: Bridges;
  deliver(id: string, text: OutboundText, file?: OutboundFile, to?: Partial<ChannelOrigin>): Promise<object>;
} {
  const watched: Table = {
    ...aroundWrites(table, around),
    delete: (...args) => around(`delete ${args[0].pk.split("#")[0]}`, () => table.delete(...args)),
  };
  const sockets: BridgeOptions["sockets"] = {
    post: (connectionId, frame) =>
      around(`post ${(frame as EventFrame).event}`, () => post(connectionId, frame)),
  };
  const activity = createActivity(table, now);
  let kept = 0;
  const payloads = {
    keepFile: async () => `payloads/files/${++kept}`,
    fileUrl: async (key: string) => `https://bucket.example/${key}?signed-at=${clock}`,
  };
  const configuration = {
    load: async () => ({ ...defaults, channels: { signal: { dmPolicy: "open" as const, owners } } }),
  };
  const options = { sockets, activity, payloads, platforms: channels, configuration, now };
  const bridges = openBridges({ table: watched, ...options });
  const secrets = { get: async () => undefined };
  const sender = createChannelSender({
    table: watched,
    secrets,
    configuration,
    bridges,
    now,
    wait: async () => {},
  });
  const deliver = (
    id: string,
    text: OutboundText,
    file?: OutboundFile,
    to: Partial<ChannelOrigin> = address,
  ) => sender.deliver({ ...origin, ...to }, id, text, file);
  return { bridges, deliver };
}

/** A bridge attaches on its own connection. */
async function attach(connectionId: string, capabilities: string[] = [], to = address): Promise<void> {
  const connection = { connectionId, openedAt: ++clock };
  const { id: tokenId } = await createToken(table, { name: connectionId, scopes: ["channel"] }, clock);
  await openConnection(table, connection);
  const peer = { id: bridgeId(to), mode: "channel" as const, connectionId, tokenId, connectedAt: clock };
  await bindPeer(table, connection, { ...peer, version: "1", platform: "test", capabilities });
  await processOf().bridges.attached(to);
}

const receipts = ["channel-receipts"];

describe("a message for a bridge", () => {
  it("may be a file, whose URL is created each time it is sent", async () => {
    await attach("first", receipts);
    const body = Buffer.from("%PDF");
    await processOf().deliver("a", "look", { filename: "plan.pdf", mimeType: "application/pdf", body });
    await attach("second", receipts);
    const files = posted.flatMap(({ payload }) => (payload.message as { media?: object[] })?.media ?? []);
    const url = /^https:\/\/bucket\.example\/payloads\/files\/1\?signed-at=\d+$/;
    const described = { type: "document", mimeType: "application/pdf", filename: "plan.pdf", size: 4 };
    expect(files).toEqual(Array(2).fill({ ...described, url: expect.stringMatching(url) }));
    expect(new Set(files.map((file) => JSON.stringify(file))).size).toBe(2);
  });

  it("is sent to nobody before a bridge has attached, and queued once one is known", async () => {
    expect(await processOf().deliver("a", "hello")).toEqual({
      ok: false,
      reason: "unknown channel signal",
    });
    await attach("c1");
    post = async () => "gone";
    expect(await processOf().deliver("b", "hello")).toEqual({ ok: true });
    expect(await processOf().bridges.waiting(address)).toBe(1);
  });

  it("waits while its bridge does not read, and is sent with the next one", async () => {
    await attach("c1");
    const reading = post;
    post = async () => "busy";
    expect(await processOf().deliver("a", "hello")).toEqual({ ok: true });
    expect(await processOf().bridges.waiting(address)).toBe(1);
    post = reading;
    await processOf().deliver("b", "again");
    expect(ids()).toEqual(["a#0", "b#0"]);
  });

  it("for an owner is dropped if they are none any more when the bridge is back", async () => {
    await attach("c1", receipts);
    post = async () => "gone";
    const forAnn = { whileOwner: { channel: "signal", senderId: "ann" } };
    await processOf().deliver("a", "a secret", undefined, forAnn);
    await processOf().deliver("b", "to a guest");
    clock += 60_000;
    owners = ["olga"];
    const back: string[] = [];
    post = async (_connection, frame) => {
      back.push(JSON.stringify(frame));
      return "sent";
    };
    await attach("c2", receipts);
    expect(back.map((frame) => /a secret|to a guest/.exec(frame)?.[0])).toEqual(["to a guest"]);
    expect(await processOf().bridges.waiting(address)).toBe(1);
  });

  it("is split for known platforms, and sent in one piece for others", async () => {
    await attach("c1");
    await processOf().deliver("a", "x".repeat(10_000));
    expect(ids()).toEqual(["a#0"]);
    const { bridges } = processOf();
    await bridges.attached({ channel: "discord", accountId: "gateway" });
    expect((await bridges.find({ channel: "discord", accountId: "gateway" }))?.maxText).toBe(2000);
  });

  it("is written in Discord's form for Discord, with no block of code left open, and as markdown for others", async () => {
    await attach("c1");
    await processOf().deliver("a", { markdown: "# Plan\n\n__now__" });
    const discord = { channel: "discord", accountId: "gateway" };
    await attach("c2", [], discord);
    await processOf().deliver(
      "b",
      { markdown: `# Plan\n\n__now__\n\n\`\`\`\n${"x\n".repeat(1500)}\`\`\`` },
      undefined,
      discord,
    );
    const texts = posted.flatMap(({ payload }) => (payload.message as { text?: string })?.text ?? []);
    expect(texts.slice(0, 2)).toEqual(["# Plan\n\n__now__", expect.stringMatching(/^# Plan\n+\*\*now\*\*/)]);
    expect(texts).toHaveLength(3);
    expect(texts.map((text) => text.split("```").length % 2)).toEqual([1, 1, 1]);
    expect(Math.max(...texts.map(({ length }) => length))).toBeLessThanOrEqual(2000);
  });

  it("stays text when it is long: its program may not send files on", async () => {
    const discord = { channel: "discord", accountId: "gateway" };
    await attach("c1", [], discord);
    await processOf().deliver("long", { markdown: "word ".repeat(2400) }, undefined, discord);
    const messages = posted.flatMap(
      ({ payload }) => (payload.message as { text: string; media?: object[] }) ?? [],
    );
    expect(messages.map(({ media }) => media)).toEqual(Array(6).fill(undefined));
    expect(
      messages
        .map(({ text }) => text)
        .join(" ")
        .match(/word/g),
    ).toHaveLength(2400);
  });

  it("contains only fields that the bridge needs", async () => {
    await attach("c1");
    await processOf().deliver("a", "hello");
    expect(posted).toEqual([
      {
        connectionId: "c1",
        event: "channel.outbound",
        payload: {
          ...address,
          peer: { kind: "dm", id: "ann" },
          message: { id: "a#0", text: "hello", replyToId: "m1" },
        },
      },
      {
        connectionId: "c1",
        event: "channel.typing",
        payload: { ...address, peer: { kind: "dm", id: "ann" }, typing: false },
      },
    ]);
  });

  it("is sent once on a connection, also by concurrent senders", async () => {
    post = async () => "gone";
    await attach("c0", receipts);
    for (const id of ["a", "b", "c"]) await processOf().deliver(id, id);
    const before = posted.length;
    post = async (connectionId, frame) => {
      const { event, payload } = frame as EventFrame;
      posted.push({ connectionId, event, payload: payload as Record<string, unknown> });
      return "sent";
    };
    await attach("c1", receipts);
    await Promise.all([1, 2, 3].map(() => processOf().bridges.attached(address)));
    expect(posted.length - before).toBe(3);
    expect(ids()).toEqual(["a#0", "b#0", "c#0"]);
  });

  it("that could not be posted is posted with the next one", async () => {
    await attach("c1", receipts);
    const works = post;
    post = async () => {
      throw new Error("API Gateway is not itself");
    };
    expect(await processOf().deliver("a", "one")).toEqual({ ok: true });
    post = works;
    await processOf().deliver("b", "two");
    expect(ids()).toEqual(["a#0", "b#0"]);
  });

  it("whose sender died before posting is posted with a later one, on the same connection", async () => {
    await attach("c1", receipts);
    await new Promise<void>((died) => {
      const dying: Around = (step, go) => {
        if (step !== "post channel.outbound") return go();
        died();
        return new Promise(() => {});
      };
      void processOf(dying).deliver("a", "one");
    });
    clock += 20_000;
    await processOf().deliver("b", "two");
    expect(ids()).toEqual(["b#0"]);
    clock += 11_000;
    await processOf().deliver("c", "three");
    expect(ids()).toEqual(["b#0", "a#0", "c#0"]);
  });

  it("expires after two days, even if the table still has it", async () => {
    await attach("c1");
    post = async () => "gone";
    await processOf().deliver("a", "one");
    clock += 2 * 86_400_000 + 1000;
    expect(await processOf().bridges.waiting(address)).toBe(0);
  });

  it("that its platform rejects is reported in the status", async () => {
    await attach("c1", receipts);
    await processOf().deliver("a", "one");
    expect(await processOf().bridges.delivered(address, { id: "a#0", error: "no such number" })).toBe(true);
    expect((await readActivity(table, clock))(address).lastError).toBe("no such number");
    expect(await processOf().bridges.delivered(address, { id: "a#0" })).toBe(false);
  });

  it("is kept for replies although the process that handled its receipt died", async () => {
    await attach("c1", receipts);
    await processOf().deliver("a", "hello", undefined, { ...address, sessionKey: "agent:main:main" });
    const receipt = { id: "a#0", messageId: "p1" };
    const dying: Around = async (step, go) => {
      const result = await go();
      if (step === "delete OUT") throw new Error("the process died");
      return result;
    };
    await expect(processOf(dying).bridges.delivered(address, receipt)).rejects.toThrow();
    expect(await processOf().bridges.delivered(address, receipt)).toBe(false);
    expect(await table.query({ pk: "SAID#signal#default#dm#ann" })).toHaveLength(1);
  });

  it("is kept for replies once its platform has it, unless it is a notice or a file, or was refused", async () => {
    await attach("c1", receipts);
    const session = { ...address, sessionKey: "agent:main:main" };
    const { deliver, bridges } = processOf();
    await deliver("answer", "hello", undefined, session);
    await deliver("refused", "hello", undefined, session);
    const file = { filename: "plan.pdf", mimeType: "application/pdf", body: Buffer.from("%PDF") };
    await deliver("plan", "look", file, session);
    await deliver("notice", "who are you?");
    await bridges.delivered(address, { id: "answer#0", messageId: "p1" });
    await bridges.delivered(address, { id: "refused#0", messageId: "p2", error: "no such number" });
    await bridges.delivered(address, { id: "notice#0", messageId: "p3" });
    await bridges.delivered(address, { id: "plan#1", messageId: "p4" });
    const kept = await table.query({ pk: "SAID#signal#default#dm#ann" });
    expect(kept).toEqual([
      expect.objectContaining({ sk: "p1", text: "hello", sessionKey: "agent:main:main" }),
    ]);
  });

  it.each([{ capabilities: receipts }, { capabilities: [] }])(
    "survives a crash at any step, with the same id ($capabilities)",
    async ({ capabilities }) => {
      const seen: string[] = [];
      const watch: Around = async (step, go) => {
        seen.push(step);
        return go();
      };
      await attach("c0", capabilities);
      await processOf(watch).deliver("first", "hello");
      await processOf().bridges.delivered(address, { id: "first#0" });
      expect(seen).toContain("put OUT");
      for (const [index, step] of seen.entries()) {
        for (const moment of ["before", "after"] as const) {
          const [id, name] = [`${index}-${moment}`, `${moment} ${step}`];
          await processOf(deathAt(index, moment))
            .deliver(id, "hello")
            .catch(() => {});
          clock += 60_000;
          expect(await processOf().deliver(id, "hello"), name).toEqual({ ok: true });
          // A message that was claimed for a connection but not posted is posted on the next one.
          await attach(`after-${id}`, capabilities);
          expect(ids(), name).toContain(`${id}#0`);
          await processOf().bridges.delivered(address, { id: `${id}#0` });
          expect(await processOf().bridges.waiting(address), name).toBe(0);
        }
      }
    },
  );
});
