import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../../../../cli/app/main.ts";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { type FakeGateway, type FakeMethod, startFakeGateway } from "../../fake-gateway.ts";
import { fakeTerminal } from "../../fake-terminal.ts";
import { type GsvOptions, gsv } from "../../run-gsv.ts";

let gateway: FakeGateway;
const run = (args: string[], options: GsvOptions = {}) =>
  gsv(args, { ...options, env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token", ...options.env } });
const answers = (table: Record<string, FakeMethod>) => {
  gateway.methods = table;
};

beforeEach(async () => {
  gateway = await startFakeGateway({});
});
afterEach(() => gateway.close());

describe("gsv pair", () => {
  const pair = {
    channel: "telegram",
    accountId: "default",
    senderId: "42",
    requestedAt: Date.UTC(2026, 0, 2, 12),
    expiresAt: Date.UTC(2026, 0, 4, 12),
  };

  it("lists requests, without control characters of the senders", async () => {
    const shady = { ...pair, senderName: "\u001b[2JAnn\u202e", message: "hi\u0007\nthere" };
    answers({ "pair.list": () => ({ pairs: { "telegram:default:42": shady } }) });
    const { stdout } = await run(["pair", "list"]);
    expect(stdout).toMatch(/\ntelegram {2}default {2}42 +\[2JAnn +2026-01-02 \d\d:\d\d {2}hi there\n$/);
    expect(JSON.parse((await run(["pair", "list", "--json"])).stdout).pairs["telegram:default:42"]).toEqual(
      shady,
    );
  });

  it("says that there are no requests", async () => {
    answers({ "pair.list": () => ({ pairs: {} }) });
    expect((await run(["pair", "list"])).stdout).toBe("no pairing requests\n");
  });

  it("approves and rejects by channel and id, and prints the gateway's answer", async () => {
    answers({
      "config.get": ({ params }) => ({ path: params.path, value: { telegram: { owners: ["7"] } } }),
      "pair.approve": ({ params: { senderId, owner } }) => ({
        ...{ approved: true, senderId, senderName: "Ann", role: owner ? "owner" : "guest" },
      }),
      "pair.reject": () => {
        throw new PeerError(404, "there is no pairing request of 43 on telegram");
      },
    });
    const approved = await run(["pair", "approve", "Telegram", "42"]);
    expect(approved.stdout).toBe(
      "Ann (42) may now write, as a guest; the waiting message is being answered\n",
    );
    expect(approved.stderr).toBe("");
    expect(gateway.requests.at(-2)?.params).toEqual({ channel: "telegram", senderId: "42" });
    const owner = await run(["pair", "approve", "telegram", "42", "--owner"]);
    expect(owner.stdout).toContain("may now write, as an owner;");
    expect(gateway.requests.at(-2)?.params).toEqual({ channel: "telegram", senderId: "42", owner: true });
    const rejected = await run(["pair", "reject", "telegram", "43"]);
    expect(rejected.code).toBe(1);
    expect(rejected.stderr).toContain("there is no pairing request of 43");
  });

  it("says how to become an owner, while the channel has none", async () => {
    answers({
      "config.get": ({ params }) => ({
        path: params.path,
        value: { telegram: {}, slack: { owners: ["U1"] } },
      }),
      "pair.approve": ({ params }) => ({ approved: true, senderId: params.senderId, role: "guest" }),
    });
    const { stderr } = await run(["pair", "approve", "telegram", "42"]);
    expect(stderr).toContain("`gsv pair approve telegram <your id> --owner`");
    expect((await run(["pair", "approve", "slack", "42"])).stderr).toBe("");
  });

  it.each([
    ["y", {}, { owner: true }],
    ["n", {}, {}],
    [undefined, { slack: { owners: ["U1"] } }, {}],
  ])("asks at a terminal whether the first one is the user: %j", async (answer, channels, expected) => {
    const folder = newFolder();
    const terminal = fakeTerminal(
      { HOME: folder, GSV_URL: gateway.url, GSV_TOKEN: "good-token" },
      folder,
      200,
    );
    answers({
      "config.get": ({ params }) => ({ path: params.path, value: channels }),
      "pair.approve": ({ params }) => ({ approved: true, senderId: params.senderId, role: "guest" }),
    });
    const ended = main(["pair", "approve", "telegram", "42"], terminal);
    if (answer !== undefined) {
      await expect.poll(() => terminal.written()).toContain("Is 42 on telegram you?");
      terminal.type(`${answer}\r`);
    }
    expect(await ended).toBe(0);
    const approval = gateway.requests.find(({ method }) => method === "pair.approve");
    expect(approval?.params).toEqual({ channel: "telegram", senderId: "42", ...expected });
  });

  it.each([
    ["pair", "approve", "telegram"],
    ["pair", "reject"],
  ])("needs a channel and an id: %s %s %s", async (...args) => {
    expect((await run(args.filter((arg) => arg !== undefined))).code).toBe(2);
    expect(gateway.requests).toEqual([]);
  });
});

describe("gsv channel", () => {
  const telegram = { channel: "telegram", accountId: "default" };
  const started = {
    ok: true,
    ...telegram,
    identity: "@gsv_bot",
    webhookUrl: "https://hook/telegram/default",
    registration: { status: "registered" },
  };
  const config = (values: Record<string, unknown>): FakeMethod => {
    return ({ params }) => ({ path: params.path, value: values[params.path] ?? null });
  };
  const asked = (method: string) =>
    gateway.requests.filter((request) => request.method === method).map(({ params }) => params);

  it("add reads the fields from a pipe, generates secrets, and shows no secret", async () => {
    answers({ "config.get": config({}), "config.set": () => ({ ok: true }), "channel.start": () => started });
    const args = ["channel", "add", "telegram", "--from", "-", "--policy", "allowlist", "--allow", "5, 6"];
    args.push("--owner", "7");
    const { code, stdout, stderr } = await run(args, { input: '{"botToken":"1:secret"}' });
    expect(code).toBe(0);
    const [{ config: given }] = asked("channel.start") as [{ config: Record<string, string> }];
    expect(given).toEqual({ botToken: "1:secret", webhookSecret: expect.stringMatching(/^[\w-]{32}$/) });
    expect(asked("config.set")).toEqual([
      { path: "channels.telegram.allowFrom", value: ["5", "6"] },
      { path: "channels.telegram.owners", value: ["7"] },
      { path: "channels.telegram.dmPolicy", value: "allowlist" },
    ]);
    expect(stdout).toContain("telegram/default is @gsv_bot; its webhook is registered");
    expect(stdout).toContain("https://hook/telegram/default");
    expect(stdout + stderr).not.toContain("secret");
    expect(stdout + stderr).not.toContain(given.webhookSecret);
  });

  it("add says once that the channel has no owner", async () => {
    answers({ "config.get": config({}), "config.set": () => ({ ok: true }), "channel.start": () => started });
    const args = ["channel", "add", "telegram", "--from", "-", "--policy", "open"];
    const { code, stderr } = await run(args, { input: '{"botToken":"1:secret"}' });
    expect(code).toBe(0);
    expect(stderr.match(/telegram has no owner/g)).toHaveLength(1);
  });

  it("add shows generated secrets that must be pasted by hand", async () => {
    const manual = { status: "manual", todo: "paste both" };
    answers({
      "config.get": config({}),
      "channel.start": ({ params }) => ({ ...started, ...params, registration: manual }),
    });
    const input = JSON.stringify({ phoneNumberId: "1", accessToken: "t", appSecret: "s" });
    const { stdout } = await run(["channel", "add", "whatsapp", "--from", "-"], { input });
    const [{ config: given }] = asked("channel.start") as [{ config: Record<string, string> }];
    expect(stdout).toContain("paste both");
    expect(stdout).toContain(`verifyToken  ${given.verifyToken}`);
    expect(stdout).toContain("Without a dmPolicy, nobody may write");
  });

  it("add replaces one secret of an existing account, and keeps the others", async () => {
    answers({
      "config.get": config({
        "channels.telegram.accounts.default": { botToken: "***", webhookSecret: "***" },
      }),
      "channel.start": () => started,
    });
    await run(["channel", "add", "telegram", "--from", "-"], { input: '{"botToken":"2:new"}' });
    expect(asked("channel.start")).toEqual([{ ...telegram, config: { botToken: "2:new" } }]);
  });

  it("add fails when the platform refuses the webhook, and says what to do", async () => {
    const registration = { status: "failed", reason: "HTTPS URL must be provided" };
    answers({ "config.get": config({}), "channel.start": () => ({ ...started, registration }) });
    const { code, stderr } = await run(["channel", "add", "telegram", "--from", "-"], {
      input: '{"botToken":"x"}',
    });
    expect(code).toBe(1);
    expect(stderr).toContain(
      "HTTPS URL must be provided; fix that, then run `gsv channel start telegram default`",
    );
  });

  it.each([
    [["channel", "add", "pigeon", "--from", "-"], "there is no channel pigeon"],
    [["channel", "add", "slack"], "send botToken, signingSecret as a JSON object"],
    [["channel", "add", "slack", "--from", "-"], "--from is not JSON"],
    [["channel", "add", "slack", "--from", "-", "--policy", "none"], "no policy none"],
    [["channel", "remove", "slack"], "pass --yes"],
    [["channel", "test", "slack", "D1", "--kind", "crowd"], "no kind crowd"],
  ])("is called wrongly, and says how: %j", async (args, message) => {
    answers({ "config.get": config({}) });
    const { code, stderr } = await run(args, { input: "xoxb-secret" });
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).not.toContain("xoxb-secret");
    expect(asked("channel.start")).toEqual([]);
  });

  it("list and status show accounts and their errors", async () => {
    const account = {
      accountId: "default",
      connected: false,
      authenticated: false,
      error: "401 Unauthorized",
      extra: {
        stopped: false,
        webhookUrl: "https://hook/telegram/default",
        lastError: "outside WhatsApp's 24-hour window: the user must write first",
        lastErrorAt: Date.UTC(2026, 0, 2, 12),
      },
    };
    answers({
      "channels.list": () => ({ channels: [{ ...telegram, connectedAt: 0, stopped: true }], count: 1 }),
      "channel.status": ({ params }) => ({ channel: params.channel, accounts: [account] }),
    });
    expect((await run(["channel", "list"])).stdout).toMatch(
      /\ntelegram {2}default {2}webhook {2}stopped +- +-\n$/,
    );
    const { stdout } = await run(["channel", "status"]);
    expect(stdout).toMatch(/error +401 Unauthorized\n/);
    expect(stdout).toMatch(
      /last undelivered +outside WhatsApp's 24-hour window: .* \(2026-01-02 \d\d:\d\d\)\n/,
    );
    expect(JSON.parse((await run(["channel", "status", "--json"])).stdout)).toEqual({
      channels: [{ channel: "telegram", accounts: [account] }],
    });
  });

  it("test sends one message, and fails with the platform's reason", async () => {
    answers({ "channel.test": () => ({ ok: false, ...telegram, error: "403 blocked" }) });
    const { code, stderr } = await run(["channel", "test", "telegram", "42", "--text", "hi"]);
    expect([code, stderr]).toEqual([1, "gsv: nothing was sent: 403 blocked\n"]);
    expect(asked("channel.test")).toEqual([{ ...telegram, to: "42", peerKind: "dm", text: "hi" }]);
  });

  it("start, stop and remove name their account", async () => {
    answers({
      "channel.start": () => started,
      "channel.stop": ({ params }) => ({ ok: true, ...params }),
      "channel.remove": ({ params }) => ({ removed: true, ...params }),
    });
    expect((await run(["channel", "start", "telegram"])).stdout).toContain("its webhook is registered");
    expect((await run(["channel", "stop", "telegram", "work"])).stdout).toBe("stopped telegram/work\n");
    const removed = await run(["channel", "remove", "telegram", "--yes", "--json"]);
    expect(JSON.parse(removed.stdout)).toEqual({ removed: true, ...telegram });
  });
});

describe("gsv channel with the channel first, the word order of GSV", () => {
  it.each(["status", "start", "stop", "login", "logout"])(
    "%s names its channel and account",
    async (action) => {
      const account = { channel: "telegram", accountId: "work" };
      const method: FakeMethod = () => ({ ok: true, ...account, accounts: [] });
      gateway.methods[`channel.${action}`] = method;
      expect((await run(["channel", "telegram", action, "work", "--json"])).code).toBe(0);
      expect(gateway.requests).toEqual([
        { method: `channel.${action}`, params: expect.objectContaining(account) },
      ]);
    },
  );

  it.each([
    [["channel", "telegram"], "gsv channel telegram: the action is missing"],
    [
      ["channel", "telegram", "dance"],
      "a channel has no action dance; use one of status, start, stop, login, logout",
    ],
    [["channel", "telegram", "stauts"], "a channel has no action stauts (did you mean status?)"],
    [["channel", "stats"], "gsv channel stats: the action is missing"],
  ])("%j is answered with what may follow", async (args, message) => {
    const { code, stderr } = await run(args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).toContain("see `gsv channel --help`");
  });
});

it("gsv channel prints its help", async () => {
  expect(await run(["channel"])).toEqual(await run(["channel", "--help"]));
});

describe("gsv channel add at a terminal", () => {
  it("asks for the fields, shows no secret, and asks once who may write", async () => {
    const folder = newFolder();
    const terminal = fakeTerminal(
      { HOME: folder, GSV_URL: gateway.url, GSV_TOKEN: "good-token" },
      folder,
      200,
    );
    const sees = (text: string) => expect.poll(() => terminal.written()).toContain(text);
    answers({
      "config.get": ({ params }) => ({ path: params.path, value: null }),
      "config.set": () => ({ ok: true }),
      "channel.start": ({ params }) => ({
        ...params,
        identity: "gsv",
        webhookUrl: "https://hook/discord/default",
        registration: { status: "registered" },
      }),
    });
    const ended = main(["channel", "add", "discord"], terminal);
    await sees("application ID");
    terminal.type("1986\r");
    await sees("public key");
    terminal.type("ab12\r");
    await sees("(not shown)");
    terminal.type("the-token\r");
    await sees("Who may write: pairing, allowlist, open [pairing]");
    terminal.type("\r");
    expect(await ended).toBe(0);
    expect(terminal.written()).not.toContain("the-token");
    expect(gateway.requests.find(({ method }) => method === "channel.start")?.params).toMatchObject({
      config: { applicationId: "1986", publicKey: "ab12", botToken: "the-token" },
    });
    expect(gateway.requests.filter(({ method }) => method === "config.set").at(-1)?.params).toEqual({
      path: "channels.discord.dmPolicy",
      value: "pairing",
    });
    await sees("gsv pair approve");
  });
});
