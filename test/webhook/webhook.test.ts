import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Table } from "../../shared/world/world.ts";
import { webhookSecret } from "../channels/fixture.ts";
import { eventIdOf, groupUpdate, textUpdate } from "../support/platforms/telegram/telegram-updates.ts";
import { startWebhook, type WebhookState } from "./fixture.ts";

const main = "agent:main:main";
const group = "agent:main:telegram:group:-1001234567890";
let on: WebhookState;

beforeEach(async () => {
  on = await startWebhook();
});
afterEach(() => on.close());

const request = (path: string, init: RequestInit = {}) =>
  fetch(`${on.url}${path}`, {
    method: "POST",
    body: JSON.stringify(textUpdate("hello")),
    ...init,
    headers: {
      "content-type": "application/json",
      "x-telegram-bot-api-secret-token": webhookSecret,
      ...init.headers,
    },
  });
const methods = () => on.telegram.calls.map(({ method }) => method);
const sent = () => on.telegram.sent.map(({ text }) => text);

/** Every write to the table. */
function countWrites(): { writes: number } {
  const counted = { writes: 0 };
  const { table } = on;
  const write = <A extends unknown[], T>(call: (...args: A) => Promise<T>) => {
    return (...args: A) => {
      counted.writes++;
      return call(...args);
    };
  };
  const watched: Table = {
    ...table,
    put: write(table.put),
    update: write(table.update),
    delete: write(table.delete),
  };
  on.webhook = { ...on.webhook, table: watched };
  return counted;
}

it("a direct message with only white space is dropped, so that the platform does not repeat it", async () => {
  expect(await on.deliver(textUpdate(" \n "))).toBe(200);
  expect(await on.session(main)).toBeUndefined();
  expect(on.woken).toEqual([]);
});

describe("a request that is not from a platform", () => {
  it("with a wrong secret or none is refused, and nothing is stored or sent", async () => {
    const counted = countWrites();
    expect(await on.deliver(textUpdate("hello"), "wrong")).toBe(401);
    expect(await on.deliver(textUpdate("/status"), "")).toBe(401);
    expect(counted.writes).toBe(0);
    expect(await on.session(main)).toBeUndefined();
    expect(on.woken).toEqual([]);
    expect(on.telegram.calls).toEqual([]);
  });

  it("to an account that is not configured, or lacks its secret, answers 503 for any body", async () => {
    await on.configure({ dmPolicy: "open" });
    await on.configuration.set("channels.telegram.accounts.half", { botToken: "1:a" });
    const counted = countWrites();
    for (const account of ["half", "nobody", "constructor"]) {
      const answer = await request(`/telegram/${account}`);
      expect([answer.status, await answer.json()]).toEqual([503, { error: "not configured" }]);
      expect((await request(`/telegram/${account}`, { body: "{" })).status).toBe(503);
    }
    expect(counted.writes).toBe(0);
  });

  it("to a stopped account is answered as usual, and its message is dropped", async () => {
    await on.configuration.set("channels.telegram.accounts.default.enabled", false);
    on.webhook = on.build();
    const counted = countWrites();
    for (const text of ["hello", "/status"]) expect(await on.deliver(textUpdate(text))).toBe(200);
    expect(await on.deliver(textUpdate("hello"), "wrong")).toBe(401);
    expect(counted.writes).toBe(0);
    expect(on.telegram.calls).toEqual([]);
  });

  it("to an account that has just been started is accepted, although the function has an older cached configuration", async () => {
    const path = "channels.telegram.accounts.default.enabled";
    await on.configuration.set(path, false);
    on.webhook = on.build();
    expect(await on.deliver(textUpdate("hello", { updateId: 11 }))).toBe(200);
    expect(await on.inbox(main)).toEqual([]);
    await on.configuration.set(path, true);
    expect(await on.deliver(textUpdate("and now?", { updateId: 12 }))).toBe(200);
    expect(await on.inbox(main)).toHaveLength(1);
  });

  it("to an account that has just been added is read, although the function has an older cached configuration", async () => {
    expect(await on.deliver(textUpdate("hello"), "wrong")).toBe(401);
    await on.configuration.set("channels.telegram.accounts.new", {
      botToken: on.telegram.token,
      webhookSecret,
      apiBaseUrl: on.telegram.url,
    });
    expect((await request("/telegram/new")).status).toBe(200);
    expect(await on.inbox(main)).toHaveLength(1);
  });

  it("GET /health answers ok to anybody, and reveals nothing else", async () => {
    const answer = await fetch(`${on.url}/health`);
    expect([answer.status, await answer.text()]).toEqual([200, '{"status":"ok"}']);
    expect((await request("/health")).status).toBe(404);
  });

  it("to any other path answers 404", async () => {
    const paths = [
      "",
      "/",
      "/pigeon/default",
      "/toString/default",
      "/__proto__",
      "/telegram/default/x",
      "/TELEGRAM",
    ];
    for (const path of [...paths, "/telegram/%2e%2e", "/telegram/a%00", "//telegram"]) {
      expect((await request(path)).status, path).toBe(404);
    }
  });

  it("with another method answers 405", async () => {
    expect((await request("/telegram/default", { method: "GET", body: undefined })).status).toBe(405);
    expect((await request("/telegram/default", { method: "PUT" })).status).toBe(405);
  });

  it("with more than three megabytes answers 413, in text and in base64, without reading the rest", async () => {
    const just = Buffer.alloc(3 * 1024 * 1024, "x");
    const over = Buffer.alloc(3 * 1024 * 1024 + 1, "x");
    for (const type of ["application/json", "application/octet-stream"]) {
      const post = async (body: Buffer) =>
        (
          await request("/telegram/default", {
            body: new Uint8Array(body),
            headers: { "content-type": type },
          })
        ).status;
      expect(await post(over), type).toBe(413);
      expect(await post(just), type).toBe(400);
    }
    const unknown = await request("/pigeon", { body: new Uint8Array(over) });
    expect(unknown.status).toBe(413);
  });

  it("with the secret but an invalid update answers 400", async () => {
    expect((await request("/telegram/default", { body: "{" })).status).toBe(400);
    expect((await request("/telegram/default", { body: "" })).status).toBe(400);
  });
});

describe("a message of Telegram", () => {
  it("is appended to its session's inbox, after its envelope, and wakes the agent", async () => {
    const update = textUpdate("hello\nthere", { date: 1_780_000_000, messageId: 77 });
    expect(await on.deliver(update)).toBe(200);
    expect(await on.inbox(main)).toEqual([
      {
        id: `telegram:default:${eventIdOf(update)}`,
        at: expect.any(Number),
        kind: "message",
        text: "[telegram · 2026-05-28 20:26]\nhello\nthere",
        origin: {
          kind: "channel",
          channel: "telegram",
          accountId: "default",
          peer: { kind: "dm", id: "5001002003", name: "Ann" },
          sessionKey: main,
          replyToId: "77",
        },
        role: "owner",
        senderId: "5001002003",
        configurationVersion: expect.any(Number),
        sentAt: 1_780_000_000_000,
      },
    ]);
    expect(on.woken).toEqual([main]);
    expect(sent()).toEqual([]);
  });

  it("shows 'typing' in its chat, even if that fails", async () => {
    on.telegram.fail("sendChatAction", { status: 500, description: "Internal" });
    expect(await on.deliver(textUpdate("hello"))).toBe(200);
    expect(methods()).toEqual(["sendChatAction"]);
  });

  it("does not wait long for 'typing'", async () => {
    on.webhook = { ...on.webhook, sender: { ...on.webhook.sender, typing: () => new Promise(() => {}) } };
    expect(await on.deliver(textUpdate("hello"))).toBe(200);
    expect(await on.inbox(main)).toHaveLength(1);
  });

  it("has the time in the user's timezone", async () => {
    await on.configuration.set("userTimezone", "Asia/Tokyo");
    await on.configure({ dmPolicy: "open" });
    await on.deliver(textUpdate("hello", { date: 1_780_000_000 }));
    expect((await on.inbox(main))[0]).toMatchObject({ text: "[telegram · 2026-05-29 05:26]\nhello" });
  });

  it("is routed by the configuration: agent, account, scope and linked names", async () => {
    await on.configuration.set("session", {
      dmScope: "per-peer",
      identityLinks: { ann: ["telegram:5001002003"] },
    });
    await on.configuration.set("agents.list", [{ id: "work" }, { id: "home", default: true }]);
    await on.configuration.set("agents.bindings", [
      { agentId: "work", match: { channel: "telegram", peer: { kind: "group" } } },
    ]);
    await on.configure({ dmPolicy: "open" });
    await on.deliver(textUpdate("hello"));
    await on.deliver(textUpdate("hello", { from: { id: 42 } }));
    await on.deliver(groupUpdate("@gsv_test_bot hello"));
    expect(on.woken).toEqual([
      "agent:home:dm:ann",
      "agent:home:telegram:guest:42",
      "agent:work:telegram:group:-1001234567890",
    ]);
  });

  it("of a kind that the agent ignores is answered and dropped", async () => {
    const counted = countWrites();
    expect(await on.deliver({ update_id: 5, poll_answer: {} })).toBe(200);
    expect(counted.writes).toBe(0);
  });
});

describe("a message in a group", () => {
  it("that does not mention the bot is dropped without a trace", async () => {
    const counted = countWrites();
    expect(await on.deliver(groupUpdate("what a day"))).toBe(200);
    expect(await on.deliver(groupUpdate("/status"))).toBe(200);
    expect(counted.writes).toBe(0);
    expect(on.telegram.calls).toEqual([]);
  });

  it("that mentions the bot goes to the group's session, with its writer's name", async () => {
    expect(await on.deliver(groupUpdate("@gsv_test_bot hello", { date: 1_780_000_000 }))).toBe(200);
    expect((await on.inbox(group))[0]).toMatchObject({
      text: "[telegram · 2026-05-28 20:26 · Ann Example]\n@gsv_test_bot hello",
      origin: { peer: { kind: "group", id: "-1001234567890", name: "Family" } },
    });
  });

  it("that replies to the bot goes there too", async () => {
    const replyTo = textUpdate("shall I?", { from: on.telegram.bot }).message;
    expect(await on.deliver(groupUpdate("yes", { replyTo }))).toBe(200);
    expect(await on.inbox(group)).toHaveLength(1);
  });

  it("that gives the bot a command is answered in the group", async () => {
    const update = groupUpdate("/status@gsv_test_bot");
    expect(await on.deliver(update)).toBe(200);
    expect(on.telegram.calls.at(-1)?.params).toMatchObject({
      chat_id: "-1001234567890",
      text: expect.stringContaining(`Session: ${group}`),
      reply_parameters: { message_id: update.message?.message_id },
    });
  });
});

describe("an unknown sender", () => {
  it("gets nothing stored, no command run and no reply, in a direct message or a group", async () => {
    for (const settings of [{}, { dmPolicy: "allowlist", allowFrom: ["42"], owners: [] }]) {
      await on.configure(settings);
      const counted = countWrites();
      for (const text of ["hello", "/status", "/model openai/gpt-5", "/new", "/stop"]) {
        expect(await on.deliver(textUpdate(text))).toBe(200);
        expect(await on.deliver(groupUpdate(`@gsv_test_bot ${text}`))).toBe(200);
      }
      expect(counted.writes).toBe(0);
    }
    expect(new Set(methods())).toEqual(new Set(["getMe"]));
    expect(on.woken).toEqual([]);
  });

  it("is accepted once on the list, and the same message may then be delivered again", async () => {
    await on.configure({ dmPolicy: "allowlist", allowFrom: ["42"], owners: [] });
    const update = textUpdate("hello");
    await on.deliver(update);
    await on.configure({ dmPolicy: "allowlist", allowFrom: ["42", "5001002003"], owners: [] });
    await on.deliver(update);
    expect(await on.inbox("agent:main:telegram:guest:5001002003")).toHaveLength(1);
  });
});

describe("a command on a channel", () => {
  it("is answered at once, once, and never reaches the model", async () => {
    const update = textUpdate("/model openai/gpt-5");
    for (let time = 0; time < 3; time++) expect(await on.deliver(update)).toBe(200);
    expect(sent()).toEqual([expect.stringMatching(/^Model set to openai\/gpt-5\n.*no key for openai/)]);
    expect((await on.session(main))?.settings.model).toEqual({ provider: "openai", id: "gpt-5" });
    expect(await on.inbox(main)).toEqual([]);
    expect(on.woken).toEqual([]);
  });

  it("that is wrong gets an error with the reason", async () => {
    await on.deliver(textUpdate("/think hard"));
    expect(sent()[0]).toMatch(/^Invalid level: hard/);
  });

  it("that the agent carries out is answered by the agent", async () => {
    await on.deliver(textUpdate("/new"));
    expect(await on.inbox(main)).toMatchObject([
      { kind: "reset", via: "command", origin: { kind: "channel" } },
    ]);
    expect(on.telegram.calls).toEqual([]);
  });

  it("does not fail if Telegram refuses the answer", async () => {
    on.telegram.fail("sendMessage", { status: 403, description: "Forbidden: bot was blocked by the user" });
    expect(await on.deliver(textUpdate("/status"))).toBe(200);
    expect(sent()).toEqual([]);
  });
});

describe("a directive on a channel", () => {
  it("is read from the message's text, before the envelope is added", async () => {
    await on.deliver(textUpdate("/think:high why?", { date: 1_780_000_000 }));
    expect(await on.inbox(main)).toMatchObject([
      { text: "[telegram · 2026-05-28 20:26]\nwhy?", overrides: { thinkingLevel: "high" } },
    ]);
  });

  it("/status with a message is answered in addition to the message", async () => {
    await on.deliver(textUpdate("why? /status"));
    expect(sent()[0]).toContain(`Session: ${main}`);
    expect(await on.inbox(main)).toHaveLength(1);
  });
});
