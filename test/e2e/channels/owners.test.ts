import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CronJob } from "../../../shared/protocol/cron.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../../support/models/scripted-model.ts";
import type { Peer } from "../../support/peer.ts";
import { type Platform, startSlack, startTelegram } from "../../support/platforms/platforms.ts";
import { until } from "../../support/until.ts";
import { type Stack, startStack } from "../stack.ts";

/**
 * Owners who change while every function has the configuration cached. Ann is the owner on Telegram, Otto on Slack. The test
 * writes the configuration itself, so the functions learn of a change only by reading it again.
 */

let stack: Stack;
let model: ModelServer;
let telegram: Platform;
let slack: Platform;
let client: Peer;
/** The model's answer. */
let reply: (request: ModelRequest, said: string) => Reply | Promise<Reply>;

beforeAll(async () => {
  model = await startOpenAiServer((request) =>
    reply(request, request.turns.findLast(({ role }) => role === "user")?.text ?? ""),
  );
  [telegram, slack] = await Promise.all([startTelegram(), startSlack()]);
  // One process of each function: it is the one with the cached configuration.
  stack = await startStack({ maxInstances: 1 });
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    "agents.defaultHeartbeat.activeHours": { start: "00:00", end: "00:00" },
    toolApproval: { mode: "off" },
    channels: {
      telegram: { dmPolicy: "open", accounts: { default: telegram.account } },
      slack: { dmPolicy: "open", accounts: { default: slack.account } },
    },
  });
  client = await stack.client();
  await client.call("workspace.write", { path: "HEARTBEAT.md", content: "Look at the build." });
  await client.call("heartbeat.start", {});
});
afterAll(async () => {
  await client?.close();
  await stack?.close();
  await model?.close();
  await telegram?.close();
  await slack?.close();
});

/** Changes the owners. The functions keep what they have cached. */
const own = (who: { ann: boolean; otto: boolean }) =>
  stack.configure({
    "channels.telegram.owners": who.ann ? [telegram.people.ann] : [],
    "channels.slack.owners": who.otto ? [slack.people.bob] : [],
  });

async function write(platform: Platform, text: string, from: string): Promise<void> {
  const event = platform.direct(text, from);
  expect((await platform.deliver(stack.cloud.webhook, event)).status).toBe(200);
}
const asAnn = (text: string) => write(telegram, text, telegram.people.ann);

/** Every function reads the configuration, in which Ann is an owner and Otto is none; both have written as owners before. */
async function warm(): Promise<void> {
  reply = () => ({ text: "hello" });
  await own({ ann: true, otto: true });
  await client.call("config.get", {});
  await write(slack, "hello", slack.people.bob);
  await until(() => slack.answers().length > 0, "Otto is answered");
  await own({ ann: true, otto: false });
  await client.call("config.get", {});
  await stack.host.invoke("timer", { kind: "heartbeat", agentId: "main", at: 1 });
  await asAnn("hello");
  await until(() => telegram.answers().length > 0, "Ann is answered");
  await idle();
  telegram.forget();
  slack.forget();
  stack.logs.length = 0;
}

const idle = () =>
  until(async () => {
    const { sessions } = await client.call<{ sessions: { sessionKey: string }[] }>("sessions.list", {});
    const all = sessions.map(({ sessionKey }) =>
      client.call<{ isProcessing: boolean; queueSize: number }>("session.stats", { sessionKey }),
    );
    return (await Promise.all(all)).every(({ isProcessing, queueSize }) => !isProcessing && queueSize === 0);
  }, "nothing runs");

const undelivered = () =>
  stack.logs.flatMap(({ event, reason }) => (event === "channel.undelivered" ? [reason] : []));
const isSeenByClients = (text: string) =>
  client.event(
    (payload, name) =>
      name === "chat" &&
      (payload as { state?: string }).state === "final" &&
      JSON.stringify(payload).includes(text),
    `the clients see "${text}"`,
  );

let texts = 0;

describe("an answer that nobody has just asked for", () => {
  const starts: [what: string, start: (text: string) => Promise<unknown>][] = [
    [
      "an event of the timer",
      (text) =>
        client.call("cron.add", {
          name: text,
          schedule: { kind: "at", atMs: Date.now() + 1000 },
          spec: { mode: "systemEvent", text },
        }),
    ],
    [
      "a heartbeat",
      async () => {
        const { agents } = await client.call<{ agents: { main: { nextHeartbeatAt: number } } }>(
          "heartbeat.status",
          {},
        );
        await stack.host.invoke("timer", {
          ...{ kind: "heartbeat", agentId: "main", at: agents.main.nextHeartbeatAt },
        });
      },
    ],
    [
      "a scheduled job",
      async (text) => {
        const spec = { mode: "task", message: text, deliver: true };
        const schedule = { kind: "every", everyMs: 3_600_000 };
        const { job } = await client.call<{ job: CronJob }>("cron.add", { name: text, schedule, spec });
        await client.call("cron.run", { id: job.id, mode: "force" });
      },
    ],
  ];
  beforeEach(warm);

  it.each(starts)("of %s reaches the owner who was just added, not the one removed", async (_what, start) => {
    const text = `news ${++texts}`;
    reply = () => ({ text });
    await own({ ann: false, otto: true });
    await start(text);
    await until(() => slack.answers().includes(text), "Otto gets it");
    await idle();
    expect(telegram.answers()).toEqual([]);
  });

  it.each(starts)("of %s goes to who is an owner when the model has answered", async (_what, start) => {
    const text = `news ${++texts}`;
    reply = async () => {
      await own({ ann: false, otto: true });
      return { text };
    };
    await start(text);
    await until(() => slack.answers().includes(text), "Otto gets it");
    await idle();
    expect(telegram.answers()).toEqual([]);
  });

  it.each(starts.slice(0, 2))(
    "of %s reaches an owner who is added while the model answers, where there was none",
    async (_what, start) => {
      const text = `news ${++texts}`;
      reply = async () => {
        await own({ ann: false, otto: true });
        return { text };
      };
      await own({ ann: false, otto: false });
      await start(text);
      await until(() => slack.answers().includes(text), "Otto gets it");
      await idle();
      expect(telegram.answers()).toEqual([]);
    },
  );

  it.each(starts)("of %s goes to the clients if no owner is left", async (_what, start) => {
    const text = `news ${++texts}`;
    reply = async () => {
      await own({ ann: false, otto: false });
      return { text };
    };
    const seen = isSeenByClients(text);
    await start(text);
    await seen;
    await idle();
    expect([telegram.answers(), slack.answers()]).toEqual([[], []]);
    expect(undelivered()).toEqual(["no owner has written to the agent in a direct message"]);
  });
});

describe("a message of somebody who is removed as an owner", () => {
  beforeEach(warm);
  const file = () => `made-${texts}.md`;
  const isWritten = async () => (await client.request("workspace.read", { path: file() })).ok;
  const writeFile = () => ({
    toolCalls: [{ name: "gsv__WriteFile", arguments: { path: file(), content: "x" } }],
  });
  const isResult = ({ turns }: ModelRequest) => turns.at(-1)?.role === "tool";
  const results = () => model.requests.flatMap(({ turns }) => turns.filter(({ role }) => role === "tool"));

  it("is answered to the clients, its calls are refused, and the log says so", async () => {
    const text = `done ${++texts}`;
    reply = async (request) => {
      if (isResult(request)) return { text };
      await own({ ann: false, otto: true });
      return writeFile();
    };
    const seen = isSeenByClients(text);
    await asAnn("write it");
    await seen;
    await idle();
    expect([telegram.answers(), slack.answers(), await isWritten()]).toEqual([[], [], false]);
    expect(results().at(-1)?.text).toContain("no longer an owner");
    expect(undelivered()).toEqual(["the sender is no longer an owner"]);
    expect(stack.logs.map(({ event }) => event)).toContain("tool.refused");
  });

  it.each(["before the other session is asked", "while the other session works"])(
    "has no rights in another session either, if that happens %s",
    async (when) => {
      const text = `done ${++texts}`;
      const isBefore = when.startsWith("before");
      const send = {
        name: "gsv__SessionSend",
        arguments: { sessionKey: `other-${texts}`, message: "write it" },
      };
      reply = async (request, said) => {
        if (isResult(request)) return { text };
        const isOther = said.startsWith("[session");
        if (isOther !== isBefore) await own({ ann: false, otto: true });
        return isOther ? writeFile() : { toolCalls: [send] };
      };
      const seen = isSeenByClients(text);
      await asAnn("ask the other one");
      await seen;
      await idle();
      expect([telegram.answers(), await isWritten()]).toEqual([[], false]);
      expect(results().some((result) => result.text.includes("no longer an owner"))).toBe(true);
      expect(undelivered()).toEqual(["the sender is no longer an owner"]);
      const { sessions } = await client.call<{ sessions: { sessionKey: string }[] }>("sessions.list", {});
      const keys = sessions.map(({ sessionKey }) => sessionKey);
      expect(keys.includes(`agent:main:other-${texts}`)).toBe(!isBefore);
    },
  );

  describe("with a question under which there are buttons", () => {
    beforeEach(async () => {
      texts++;
      await stack.configure({ toolApproval: { mode: "ask" } });
      await warm();
      reply = (request) => (isResult(request) ? { text: "done" } : writeFile());
      await asAnn("write it");
      await until(() => telegram.buttons!.questions().length > 0, "Ann is asked");
      return () => stack.configure({ toolApproval: { mode: "off" } });
    });
    const press = async (label: string, from?: string) => {
      const event = telegram.buttons!.press(label, from);
      expect((await telegram.deliver(stack.cloud.webhook, event)).status).toBe(200);
    };
    const end = async () => {
      await client.call("chat.send", { sessionKey: "main", message: "/stop" });
      await idle();
    };

    it("is not answered by a former owner's press", async () => {
      await own({ ann: false, otto: true });
      await press("Allow once");
      expect(telegram.buttons!.told()).toEqual(["Only the owner can answer this."]);
      expect(await client.call("approval.list", {})).toMatchObject({ count: 1 });
      await end();
      expect(await isWritten()).toBe(false);
    });

    it("is answered by a new owner's press", async () => {
      await stack.configure({ "channels.telegram.owners": [telegram.people.ann, telegram.people.bob] });
      await press("Allow once", telegram.people.bob);
      await until(isWritten, "the call has run");
      await until(() => telegram.answers().includes("done"), "Ann gets the answer");
      await idle();
    });

    it("is void once its run is a former owner's, whoever allows it", async () => {
      await stack.configure({ "channels.telegram.owners": [telegram.people.bob] });
      await press("Allow once", telegram.people.bob);
      await idle();
      expect(await isWritten()).toBe(false);
      expect(results().at(-1)?.text).toContain("no longer an owner");
      expect(telegram.answers().includes("done")).toBe(false);
    });
  });
});

it("no function lacked a permission", () => {
  expect(stack.roles.refusals()).toEqual([]);
});
