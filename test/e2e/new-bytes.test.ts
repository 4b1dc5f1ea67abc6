import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { nodeTools } from "../../cli/node/tools/offered.ts";
import { type LocalGateway, startLocalGateway } from "../../local/in-process-gateway.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { textOf } from "../bench/tokens/day.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer, Reply } from "../support/models/scripted-model.ts";
import { nodeParams, openClient, Peer } from "../support/peer.ts";
import { channelsOf, type Platform, startTelegram } from "../support/platforms/platforms.ts";
import { standingAdmin } from "../support/standing-admin.ts";
import { until } from "../support/until.ts";

const start = Date.parse("2026-11-23T09:00:30Z");

let dir: string;
let gateway: LocalGateway;
let token: string;
let model: ModelServer;
let telegram: Platform;
let client: Peer;
let laptop: Peer;
let replies: Reply[] = [];
let turns = 0;

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: start });
  model = await startOpenAiServer(() => replies.shift() ?? { text: textOf(180, ++turns + 1000) });
  telegram = await startTelegram();
  dir = await mkdtemp(join(tmpdir(), "gsv-new-bytes-"));
  gateway = await startLocalGateway({ dir });
  const { table, secrets } = gateway.world;
  const configuration = openConfiguration(table, secrets);
  const values = {
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    userTimezone: "UTC",
    channels: channelsOf([telegram], { dmPolicy: "open" }),
  };
  for (const [path, value] of Object.entries(values)) await configuration.set(path, value);
  ({ token } = await standingAdmin(table, ["client", "node", "channel", "admin"]));
  client = await openClient(gateway.ws, token);
  laptop = await openLaptop();
});
afterAll(async () => {
  await client?.close();
  await laptop?.close();
  await gateway?.close();
  await telegram?.close();
  await model?.close();
  vi.useRealTimers();
  await rm(dir, { recursive: true, force: true });
});

/** Connects a node that offers the tools of a real one. */
async function openLaptop(): Promise<Peer> {
  const peer = await Peer.open(gateway.ws, token);
  const definitions = nodeTools.map(({ definition }) => definition);
  const params = nodeParams(
    "laptop",
    definitions.map(({ name }) => name),
  );
  await peer.call("connect", { ...params, tools: definitions });
  return peer;
}

const later = (minutes: number) => vi.setSystemTime(Date.now() + minutes * 60_000);

async function say(): Promise<void> {
  const sent = { sessionKey: "main", message: textOf(90, ++turns) };
  const { runId } = await client.call("chat.send", sent);
  expect(await client.ended(String(runId))).toMatchObject({ state: "final" });
}

async function sayOnTelegram(): Promise<void> {
  const before = telegram.answers().length;
  await telegram.deliver(gateway.webhook, telegram.direct(textOf(90, ++turns)));
  await until(() => telegram.answers().length > before, "it is answered");
}

/** A request as a provider's cache compares it: tools, then messages. */
function serialized({ body }: { body: unknown }): string {
  const { tools, messages } = body as { tools: object[]; messages: object[] };
  return [...tools, ...messages].map((one) => JSON.stringify(one)).join("\n");
}

function commonPrefix(one: string, other: string): number {
  const max = Math.min(one.length, other.length);
  let length = 0;
  while (length < max && one[length] === other[length]) length++;
  return length;
}

/** The largest share of new bytes among the requests that `work` causes: what no earlier request begins with. */
async function newShare(work: () => Promise<void>): Promise<number> {
  const known = model.requests.map(serialized);
  await work();
  const shares = model.requests.slice(known.length).map((request) => {
    const text = serialized(request);
    const old = Math.max(...known.map((one) => commonPrefix(one, text)));
    known.push(text);
    return 1 - old / text.length;
  });
  return Math.max(...shares);
}

const times = async (count: number, work: () => Promise<void>) => {
  for (let n = 0; n < count; n++) await work();
};

it("a request is new to the provider by a few percent, whatever has happened since the last", async () => {
  await say();
  const shares = {
    "within a minute": await newShare(() => times(3, say)),
    "a minute later": await newShare(() =>
      times(8, async () => {
        later(1);
        await say();
      }),
    ),
    "a node that leaves and returns": await newShare(async () => {
      await laptop.close();
      later(2);
      await say();
      laptop = await openLaptop();
      later(2);
      await say();
    }),
    "a Telegram message between two from the terminal": await newShare(async () => {
      later(1);
      await say();
      await sayOnTelegram();
      later(1);
      await say();
    }),
    "a memory written": await newShare(async () => {
      const fact = { action: "remember", content: "Zoe's birthday is on 4 May" };
      replies = [{ toolCalls: [{ name: "gsv__memory", arguments: fact }] }];
      await say();
      later(2);
      await say();
    }),
  };
  console.log(shares, `${serialized(model.requests[11]!).length} bytes after 12 turns`);
  const sessions = await client.call("sessions.list");
  expect(sessions.sessions).toHaveLength(1);
  const { "within a minute": within, "a minute later": minute, ...others } = shares;
  expect(Math.max(within, minute)).toBeLessThanOrEqual(0.06);
  expect(Math.max(...Object.values(others))).toBeLessThanOrEqual(0.1);
});
