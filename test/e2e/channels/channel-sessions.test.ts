import { DynamoDBClient, ScanCommand } from "@aws-sdk/client-dynamodb";
import { ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type Message, textOf } from "../../../shared/protocol/messages.ts";
import { imageBytes } from "../../support/images.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import type { Peer } from "../../support/peer.ts";
import { messageCommand } from "../../support/platforms/discord/discord-interactions.ts";
import type { SharedFile } from "../../support/platforms/platform-server.ts";
import { type Platform, platformStarts } from "../../support/platforms/platforms.ts";
import type { SlackEnvelope } from "../../support/platforms/slack/slack-events.ts";
import type { TelegramUpdate } from "../../support/platforms/telegram/telegram-updates.ts";
import { notify, whatsappMessage } from "../../support/platforms/whatsapp/whatsapp-notifications.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

/** Two accounts of every platform, served by two agents. */
const accounts = ["home", "work"] as const;
type Account = (typeof accounts)[number];

let stack: Stack;
let model: ModelServer;
let client: Peer;
let dynamodb: DynamoDBClient;
let s3: S3Client;
let platforms: Record<Account, Platform>[];

beforeAll(async () => {
  model = await startOpenAiServer(() => ({ text: "hello" }));
  platforms = await Promise.all(
    Object.values(platformStarts).map(async (start) => ({ home: await start(), work: await start() })),
  );
  stack = await startStack();
  const idsOf = (person: keyof Platform["people"]) =>
    platforms.map(({ home }) => `${home.name}:${home.people[person]}`);
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    session: { dmScope: "per-peer", identityLinks: { ann: idsOf("ann"), bob: idsOf("bob") } },
    "agents.list": [{ id: "main" }, { id: "home" }, { id: "work" }],
    "agents.bindings": accounts.map((accountId) => ({ agentId: accountId, match: { accountId } })),
    channels: Object.fromEntries(
      platforms.map(({ home, work }) => [
        home.name,
        {
          dmPolicy: "open",
          owners: Object.values(home.people),
          accounts: { home: home.account, work: work.account },
        },
      ]),
    ),
  });
  client = await stack.client();
  dynamodb = new DynamoDBClient({});
  s3 = new S3Client({});
});
afterEach(() => expect(stack.roles.refusals()).toEqual([]));
afterAll(async () => {
  dynamodb?.destroy();
  s3?.destroy();
  await stack?.close();
  await model?.close();
  for (const { home, work } of platforms ?? []) await Promise.all([home.close(), work.close()]);
});

it("two people on two accounts of every platform have one session with each agent, and get their answers there", async () => {
  // One session after the other, so one process of the agent is enough.
  for (const account of accounts)
    for (const person of ["ann", "bob"] as const) {
      const on = platforms.map((byAccount) => byAccount[account]);
      const heard = on.map((platform) => platform.answers().length);
      for (const platform of on) {
        const event = platform.direct(`${person} on ${platform.name}`, platform.people[person]);
        expect((await platform.deliver(stack.cloud.webhook, event, account)).status).toBe(200);
      }
      const isAnswered = (platform: Platform, index: number) =>
        platform.answers().length === (heard[index] ?? 0) + 1;
      await until(() => on.every(isAnswered), `${person} is answered by ${account}`);
    }
  const all = platforms.flatMap(({ home, work }) => [home, work]);
  expect(all.map((platform) => platform.answers().length)).toEqual(Array(8).fill(2));
  const names = platforms.map(({ home }) => home.name);
  for (const agent of accounts)
    for (const person of ["ann", "bob"]) {
      const said = await saidIn(`agent:${agent}:dm:${person}`);
      expect(said.sort()).toEqual(names.map((name) => `${person} on ${name}`).sort());
    }
  const { sessions } = await client.call<{ sessions: unknown[] }>("sessions.list", {});
  expect(sessions).toHaveLength(4);
});

/** Ann's event that passes on Bob's "/reset /t:high", in each platform's wire format. */
const passedOn = (platform: Platform): object => {
  const words = "/reset /t:high";
  const sent = platform.direct(words, platform.people.ann);
  switch (platform.name) {
    case "telegram": {
      const { message } = sent as TelegramUpdate;
      const writer = { type: "hidden_user", sender_user_name: "Bob", date: 1_780_000_000 };
      return { ...sent, message: { ...message, forward_origin: writer } };
    }
    case "whatsapp":
      return notify({ ...whatsappMessage(words), context: { forwarded: true } });
    case "slack": {
      const { event } = sent as SlackEnvelope;
      const shared = { is_share: true, author_name: "Bob", author_id: "U9", text: words };
      return { ...sent, event: { ...event, text: "", attachments: [shared] } };
    }
    default:
      return messageCommand({ content: words, author: { id: "7", username: "Bob" } });
  }
};

it("a command that somebody else wrote and an owner passes on is read, and not carried out, on every platform", async () => {
  const before = await client.call<{ sessionId: string }>("session.get", { sessionKey: "agent:home:dm:ann" });
  for (const { home } of platforms) {
    const heard = home.answers().length;
    const asked = model.requests.length;
    expect((await home.deliver(stack.cloud.webhook, passedOn(home), "home")).status).toBe(200);
    await until(() => home.answers().length > heard, `${home.name} is answered`);
    expect(home.answers().at(-1), home.name).toBe("hello");
    expect(model.requests.length).toBe(asked + 1);
    expect(JSON.stringify(model.requests.at(-1))).toContain("> /reset /t:high");
  }
  const after = await client.call<{ sessionId: string }>("session.get", { sessionKey: "agent:home:dm:ann" });
  expect(after.sessionId).toBe(before.sessionId);
});

/** What people wrote in a session, without the envelopes. */
async function saidIn(sessionKey: string): Promise<string[]> {
  const { messages } = await client.call<{ messages: Message[] }>("session.preview", { sessionKey });
  return messages.filter(({ role }) => role === "user").map((one) => textOf(one).split("\n")[1] ?? "");
}

const told = "You don't have access yet. We kept your message and will answer once you are approved.";
const texts = ["hello", "/status", "/reset", "/model openai/gpt-5", "/stop", "why? /status"];
const picture: SharedFile = { name: "a.jpg", type: "image/jpeg", bytes: imageBytes("image/jpeg") };
const attempts = (platform: Platform) => [
  ...texts.flatMap((text) => [platform.direct(text), platform.inRoom?.(text)]),
  platform.attach("/status", picture),
];

// Only the state that stores something. test/channels/strangers.test.ts tries the others.
it("a stranger who may ask for access learns nothing, cannot run commands, and leaves no session or object", async () => {
  const channels = platforms.map(({ home }) => [
    home.name,
    { dmPolicy: "pairing", allowFrom: ["42"], accounts: { home: home.account } },
  ]);
  await stack.configure({ channels: Object.fromEntries(channels) });
  // A new process reads the configuration at once.
  stack.host.renew("webhook");
  await until(() => logged("agent.out") === logged("agent.in"), "every agent has ended");
  const before = [await leftBehind(), model.requests.length];
  for (const { home } of platforms) {
    const heard = home.answers().length;
    const fetched = home.downloads();
    for (const event of attempts(home))
      if (event) expect((await home.deliver(stack.cloud.webhook, event, "home")).status).toBe(200);
    expect(home.downloads()).toBe(fetched);
    // Discord shows an answer to every command.
    const shown = home.name === "discord" ? ["Not available."] : [];
    expect(new Set(home.answers().slice(heard)), home.name).toEqual(new Set([...shown, told]));
    expect(home.answers().filter((answer) => answer === told)).toHaveLength(1);
  }
  expect([await leftBehind(), model.requests.length]).toEqual(before);
});

const logged = (event: string) => stack.logs.filter((line) => line.event === event).length;

/** All stored items and objects, except for access requests and the receipts of their notices. */
async function leftBehind(): Promise<unknown> {
  const { Items = [] } = await dynamodb.send(new ScanCommand({ TableName: stack.cloud.table }));
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: stack.cloud.bucket }));
  const isRequest = (item: (typeof Items)[number]) => /^PAIR$|^TX#.*:pairing$/.test(String(item.pk?.S));
  return [Items.filter((item) => !isRequest(item)), Contents.map(({ Key }) => Key)];
}
