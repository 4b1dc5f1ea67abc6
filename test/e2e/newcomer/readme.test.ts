import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readGatewayFile } from "../../../local/dev/dev-state.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { killTerminals } from "../../support/terminal/pseudo-terminal.ts";
import type { TerminalScreen } from "../../support/terminal/terminal-screen.ts";
import { Newcomer } from "./newcomer.ts";
import { describeInstallation, describePackage } from "./package-cases.ts";
import {
  byContinuousIntegration,
  describeCommands,
  leaveChat,
  openChat,
  openPicturedChat,
  succeedAsAdmin,
} from "./typed-commands.ts";

const ollama = "http://127.0.0.1:11434/v1";
const newcomer = new Newcomer();
let model: ModelServer;
/** The chat of the first terminal. The second terminal uses its gateway. */
let first: TerminalScreen | undefined;

beforeAll(async () => {
  model = await startOpenAiServer(() => ({ text: "an answer of the model" }));
});
afterAll(async () => {
  await leaveChat(first).finally(killTerminals);
  await newcomer.leave();
  await model.close();
});

async function start(command: string): Promise<void> {
  first = await openPicturedChat(newcomer, "README.md", command);
}

/** Types a message into a chat, and waits for the model's answer. */
async function sayHello(terminal: TerminalScreen): Promise<void> {
  terminal.type("hello\r");
  await terminal.sees("an answer of the model");
}

async function startWithOllama(command: string): Promise<void> {
  await leaveChat(first);
  expect(command).toContain(ollama);
  first = await openChat(newcomer, command.replace(ollama, model.url));
  await sayHello(first);
}

async function initialize(command: string): Promise<void> {
  const gateway = await readGatewayFile(join(newcomer.folder, ".gsv"));
  const terminal = newcomer.terminal(command);
  await terminal.sees("Gateway url");
  terminal.type(`${gateway?.url}\r`);
  await terminal.sees("Token");
  terminal.type(`${gateway?.token}\r`);
  await terminal.sees("Name of this machine's node");
  terminal.type("\r");
  expect(await terminal.ended).toBe(0);
  expect(terminal.text()).toContain("config.toml is written");
}

async function chat(command: string): Promise<void> {
  const terminal = await openChat(newcomer, command);
  await sayHello(terminal);
  await leaveChat(terminal);
}

async function pairList(command: string): Promise<void> {
  await succeedAsAdmin(newcomer, first, command);
}

/** For a command that needs AWS, a messenger, or a newer version: its help exists and lists its options. */
async function onlyHelp(command: string): Promise<void> {
  const { code, stdout } = await newcomer.run(`${command} --help`);
  expect(code).toBe(0);
  expect(stdout).toContain(command.split(" ").slice(1, 3).join(" "));
  for (const option of command.match(/ --[\w-]+/g) ?? []) expect(stdout).toContain(option);
}

describeCommands(newcomer, "README.md", [
  [/^npm (ci|test)$/, byContinuousIntegration],
  [/^npm start$/, start],
  [/^GSV_MODEL_BASE_URL=.* npm start$/, startWithOllama],
  [/^npx (cdk bootstrap|gsv (deploy|channel add|pair approve|upgrade))\b/, onlyHelp],
  [/^gsv init$/, initialize],
  [/^gsv client$/, chat],
  [/^npx gsv pair list$/, pairList],
]);

describe("the README", () => {
  it("has at most 700 words", () => {
    expect(readFileSync("README.md", "utf8").match(/\S+/g)?.length).toBeLessThanOrEqual(700);
  });
});

describe("the package of the command line", () => describePackage(newcomer));

describe("an installation of the package alone, in an empty home", () => describeInstallation(newcomer));
