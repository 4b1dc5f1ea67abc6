import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readGatewayFile } from "../../../local/dev/dev-state.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import type { ModelServer } from "../../support/models/scripted-model.ts";
import { killTerminals } from "../../support/terminal/pseudo-terminal.ts";
import { commandsOf, Newcomer, pictureOf } from "./newcomer.ts";
import { describeInstallation, describePackage } from "./package-cases.ts";

const ollama = "http://127.0.0.1:11434/v1";
const newcomer = new Newcomer();
let model: ModelServer;

beforeAll(async () => {
  model = await startOpenAiServer(() => ({ text: "an answer of the model" }));
});
afterAll(async () => {
  killTerminals();
  await newcomer.leave();
  await model.close();
});

/** What differs from machine to machine and from run to run. */
const common = (line: string) =>
  line
    .replace(/kept in \S+\/\.gsv/, "kept in …/.gsv")
    .replace(/\S+__Bash/, "…__Bash")
    .replace(/ after [\d.]+ s\b/, "")
    .replace(/^\(\d+ calls?, .* out, (.*) \d+%\)$/, "($1)")
    .trim();

/** The chat of the picture: what it shows is on the screen, and what is typed there is typed. */
async function chatOfThePicture(command: string): Promise<void> {
  const picture = pictureOf("README.md");
  const [typed = ""] = picture.filter((line) => line.startsWith("> "));
  expect(typed).not.toBe("");
  const terminal = newcomer.terminal(command);
  await terminal.sees(/^> ?$/m);
  terminal.type(`${typed.slice(2)}\r`);
  // The line of the tokens is the last one of a turn.
  await terminal.sees(/^\(\d+ calls?, .*\)$/m);
  terminal.type("\u0004");
  expect(await terminal.ended).toBe(0);
  const seen = new Set(terminal.rows().map(common));
  expect(picture.filter((line) => !seen.has(common(line)))).toEqual([]);
}

async function chatWithOllama(command: string): Promise<void> {
  expect(command).toContain(ollama);
  const terminal = newcomer.terminal(command.replace(ollama, model.url));
  await terminal.sees(/^> ?$/m);
  terminal.type("hello\r");
  await terminal.sees("an answer of the model");
  terminal.type("\u0004");
  expect(await terminal.ended).toBe(0);
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
  const terminal = newcomer.terminal(command);
  await terminal.sees(/^> ?$/m);
  terminal.type("hello\r");
  await terminal.sees("an answer of the model");
  terminal.type("\u0004");
  expect(await terminal.ended).toBe(0);
}

/** A command that needs AWS, a messenger, or a newer version: its help knows it and all of its options. */
async function onlyHelp(command: string): Promise<void> {
  const { code, stdout } = await newcomer.run(`${command} --help`);
  expect(code).toBe(0);
  expect(stdout).toContain(command.split(" ").slice(1, 3).join(" "));
  for (const option of command.match(/ --[\w-]+/g) ?? []) expect(stdout).toContain(option);
}

/** `npm ci` and `npm test` are what runs this test, in a fresh clone. */
async function byContinuousIntegration(command: string): Promise<void> {
  expect(readFileSync(".ci/run", "utf8").split("\n")).toContain(command);
}

async function run(command: string): Promise<void> {
  const { code, output } = await newcomer.run(command);
  expect(code, output).toBe(0);
}

/** How a command of the README is tried; any other is run as it is, and must succeed. */
const trials: [RegExp, (command: string) => Promise<void>][] = [
  [/^npm (ci|test)$/, byContinuousIntegration],
  [/^npm start$/, chatOfThePicture],
  [/^GSV_MODEL_BASE_URL=.* npm start$/, chatWithOllama],
  [/^npx gsv dev --serve$/, (command) => newcomer.serve(command, "serving at")],
  [/^npx (cdk bootstrap|gsv (deploy|channel add|pair approve|upgrade))\b/, onlyHelp],
  [/^gsv init$/, initialize],
  [/^gsv client$/, chat],
];

describe("the commands of the README, typed one after the other", () => {
  const commands = commandsOf("README.md");

  it.each(commands)("%s", async (command) => {
    const [, trial = run] = trials.find(([pattern]) => pattern.test(command)) ?? [];
    await trial(command);
  });

  it("are tried in every way that there is", () => {
    const unused = trials.filter(([pattern]) => !commands.some((command) => pattern.test(command)));
    expect(unused).toEqual([]);
  });
});

describe("the README", () => {
  it("has about 700 words", () => {
    const prose = readFileSync("README.md", "utf8").replace(/^(`{3,}).*?^\1$/gms, "");
    expect(prose.match(/[\p{L}\p{N}][\p{L}\p{N}'’.-]*/gu)?.length).toBeLessThan(750);
  });
});

describe("the package of the command line", () => describePackage(newcomer));

describe("an installation of the package alone, in an empty home", () => describeInstallation(newcomer));
