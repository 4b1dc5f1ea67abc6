import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  startTelegramServer,
  type TelegramServer,
} from "../../support/platforms/telegram/telegram-server.ts";
import { textUpdate } from "../../support/platforms/telegram/telegram-updates.ts";
import { killTerminals } from "../../support/terminal/pseudo-terminal.ts";
import type { TerminalScreen } from "../../support/terminal/terminal-screen.ts";
import { Newcomer } from "./newcomer.ts";
import {
  byContinuousIntegration,
  describeCommands,
  leaveChat,
  openChat,
  openPicturedChat,
  succeed,
  succeedAsAdmin,
  typeCode,
} from "./typed-commands.ts";

const tutorial = "docs/tutorial.md";
const newcomer = new Newcomer();
let telegram: TelegramServer;
/** The chat of the first terminal. */
let first: TerminalScreen | undefined;
/** The webhook's port. */
let port: string | undefined;

beforeAll(async () => {
  // A local server accepts webhooks without https, so no tunnel is needed.
  telegram = await startTelegramServer({ local: true });
});
afterAll(async () => {
  await leaveChat(first).finally(killTerminals);
  await newcomer.leave();
  await telegram.close();
});

/** The texts of the messages that the bot has sent. */
const messages = () => telegram.sent.map(({ text }) => text);

async function clone(command: string): Promise<void> {
  await succeed(newcomer, command.replace("$REPOSITORY", process.cwd()));
  expect(existsSync(join(newcomer.folder, "gsv/package.json"))).toBe(true);
}

async function start(command: string): Promise<void> {
  first = await openPicturedChat(newcomer, tutorial, command);
}

/** `doctor` exits with 0. Its line `ports` names the webhook's port. */
async function doctor(command: string): Promise<void> {
  [, port] = /^✓ ports .* ws \d+, webhook (\d+),/m.exec(await succeed(newcomer, command)) ?? [];
  expect(port).toBeDefined();
}

/** The tunnel is an external program. Its argument is the address of the webhook. */
async function tunnel(command: string): Promise<void> {
  expect(command).toMatch(/ --url http:\/\/127\.0\.0\.1:\d+$/);
}

/** Starts the chat again with the webhook's own address, which the fake Telegram reaches without a tunnel. */
async function startBehindTunnel(command: string): Promise<void> {
  await leaveChat(first);
  first = await openChat(newcomer, command.replace(/https:\S+/, `http://127.0.0.1:${port}`));
}

async function addBot(command: string): Promise<void> {
  const server = "channels.telegram.accounts.default.apiBaseUrl";
  await succeedAsAdmin(newcomer, first, `npx gsv config set ${server} ${telegram.url}`);
  const terminal = newcomer.terminal(command);
  await terminal.sees("token");
  terminal.type(`${telegram.token}\r`);
  await terminal.sees("Who may write");
  terminal.type("\r");
  await typeCode(first, terminal);
  expect(await telegram.deliver(textUpdate("hello"))).toMatchObject({ status: 200 });
  // The bot answers that the message waits.
  await expect.poll(messages).toHaveLength(1);
}

async function pairList(command: string): Promise<void> {
  expect(await succeedAsAdmin(newcomer, first, command)).toContain("5001002003");
}

async function approve(command: string): Promise<void> {
  await succeedAsAdmin(newcomer, first, command);
  await expect.poll(messages).toHaveLength(2);
  await telegram.deliver(textUpdate("run df -h ."));
  await expect.poll(messages).toHaveLength(3);
  expect(messages()[2]).toContain("Filesystem");
}

async function runJob(command: string): Promise<void> {
  await succeed(newcomer, command);
  await expect.poll(messages).toHaveLength(4);
  expect(messages()[3]).toContain("Filesystem");
}

describeCommands(newcomer, tutorial, [
  [/^git clone /, clone],
  // `newcomer` types all commands in this folder.
  [/^cd gsv$/, async () => {}],
  [/^npm ci$/, byContinuousIntegration],
  [/^npm start$/, start],
  [/^npx gsv doctor$/, doctor],
  [/^cloudflared /, tunnel],
  [/^npx gsv dev /, startBehindTunnel],
  [/^npx gsv channel add /, addBot],
  [/^npx gsv pair list$/, pairList],
  [/^npx gsv pair approve /, approve],
  [/^npx gsv cron run /, runJob],
]);

describe("the tutorial", () => {
  it("has at most 900 words", () => {
    expect(readFileSync(tutorial, "utf8").match(/\S+/g)?.length).toBeLessThanOrEqual(900);
  });
});
