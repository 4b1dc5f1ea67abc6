import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type Gateway, openGateway } from "../../../../cli/gateway/gateway-client.ts";
import { type Dev, startDev } from "../../../../local/dev/dev.ts";
import { freePort } from "../../../local/kept-port.ts";
import { imageBytes } from "../../../support/images.ts";
import { startOpenAiServer } from "../../../support/models/openai-server.ts";
import type { ModelServer, Reply, Turn } from "../../../support/models/scripted-model.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { leaveTerminals, runGsvAtTerminal } from "../../../support/terminal/gsv-here.ts";
import type { TerminalScreen } from "../../../support/terminal/terminal-screen.ts";
import { until } from "../../../support/until.ts";

/** The time in which the prompt is back, in ms. */
const promptMs = 2000;

/** What the model does with every request but "earlier …" and "next …". "refused": nothing listens at its address. */
const faults: Record<string, Reply | "refused"> = {
  hangs: { text: ["Once"], hang: true },
  "answers 429": { error: { status: 429, message: "Rate limit reached" } },
  "answers 500": { error: { status: 500, message: "internal error" } },
  "cuts its answer": { text: ["Once", "upon"], cutAfterChunks: 1 },
  "refuses the connection": "refused",
};
const keys: Record<string, string> = { Esc: "\u001b", "Ctrl-C": "\u0003", "Ctrl-D": "\u0004" };
const cells = Object.keys(faults).flatMap((fault) => Object.keys(keys).map((key) => [fault, key] as const));
const actions = ["tell me ID", "/new", "/compact 1", "use a tool ID", "look ID at @picture.png"];

let dev: Dev;
let gateway: Gateway;
let model: ModelServer;
let fault: Reply | "refused";
const cwd = newFolder();
beforeAll(async () => {
  writeFileSync(join(cwd, "picture.png"), imageBytes());
  model = await startOpenAiServer(({ turns, tools }) => {
    const text = userText(turns);
    if (/^(next|earlier)/.test(text) || fault === "refused") return { text: [`re ${text}`] };
    const isTool = text.startsWith("use a tool") && turns.at(-1)?.role === "user";
    const name = tools.find((tool) => /List|Read/.test(tool)) ?? "";
    return isTool ? { toolCalls: [{ name, arguments: {} }] } : fault;
  });
  dev = await startDev({ dir: join(cwd, ".gsv") });
  // An interrupted call is charged its whole reservation, and these are many.
  await dev.configuration.set("budgets", { enabled: false });
  gateway = await openGateway(dev.url, dev.token);
});
afterEach(leaveTerminals);
afterAll(async () => {
  await gateway?.close();
  await dev?.close();
  await model?.close();
});

const userText = (turns: Turn[]) => turns.findLast(({ role }) => role === "user")?.text ?? "";
const useModelAt = (baseUrl: string) =>
  dev.configuration.set("model", { provider: "openai-compatible", id: "m", baseUrl });

/** Whether nothing is in progress above an empty prompt. */
const isIdle = (text: string) => /(^|\n)>$/.test(text) && !/\n(…|queued|⏵.* … ).*\n>$/.test(text);

/** A chat in a session of its own, in which one message is sent. */
class Cell {
  readonly #id = randomUUID().slice(0, 8);
  readonly #session = `agent:main:${this.#id}`;
  readonly #text: string;
  /** The part of the message that the model sees. */
  readonly #seen: string;
  #terminal!: TerminalScreen;

  constructor(action: string) {
    this.#text = action.replace("ID", this.#id);
    this.#seen = this.#text.replace(/ @.*/, "");
  }

  async open(): Promise<void> {
    const env = { GSV_URL: dev.url, GSV_TOKEN: dev.token };
    this.#terminal = runGsvAtTerminal(["client", "--session", this.#session], { cwd, env, rows: 60 });
    await this.#terminal.until(isIdle, "a prompt");
  }

  async say(message: string): Promise<void> {
    this.#terminal.type(`${message} ${this.#id}\r`);
    // The line with the costs follows the complete answer.
    const isAnswered = (text: string) =>
      text.split(`re ${message} ${this.#id}`)[1]?.includes("(1 call") === true;
    await this.#terminal.until(isAnswered, `the answer to ${message}`);
  }

  /** Sends the message, and resolves when the model was called. A reset does not call it. */
  async ask(): Promise<void> {
    this.#terminal.type(`${this.#text}\r`);
    await this.#terminal.sees(`> ${this.#seen}`);
    if (this.#text === "/new") return;
    if (fault === "refused") return this.#terminal.sees(/\n(…|\(.*trying again|error)/);
    const isFor = (turns: Turn[]) => turns.at(-1)?.role === "tool" || !this.#text.startsWith("use a tool");
    const mark = this.#text.startsWith("/") ? `earlier one ${this.#id}` : this.#seen;
    await until(
      () =>
        model.requests.some(
          ({ turns }) => userText(turns).includes(mark) && isFor(turns) && !/^earlier/.test(userText(turns)),
        ),
      `the model was called for ${this.#text}`,
    );
  }

  /** Presses a key, and resolves when the chat shows how the message ended, or has ended itself. */
  async press(key: string): Promise<void> {
    this.#terminal.type(keys[key] ?? "");
    let isLeft = false;
    void this.#terminal.ended.then(() => {
      isLeft = true;
    });
    const rest = () => this.#terminal.text().slice(this.#terminal.text().lastIndexOf(`> ${this.#seen}`));
    const hasEnd = () => /\(stopped\)|\nerror: |Session reset|Compacted/.test(rest()) && isIdle(rest());
    const isBack = key === "Ctrl-D" ? () => isLeft : hasEnd;
    await until(isBack, "the prompt was back", promptMs).catch((error: Error) => {
      throw new Error(`${error.message}:\n${this.#terminal.text()}`);
    });
    if (key !== "Ctrl-D") return;
    await this.open();
    this.#terminal.type("/stop\r");
    await this.#terminal.sees(/Stopped|No run/);
  }

  /** What the model reads with the next message: whether the text is in it, and whether a marker follows the text. */
  async next(): Promise<{ isRead: boolean; isMarked: boolean }> {
    await this.say("next");
    const turns =
      model.requests.findLast((request) => userText(request.turns) === `next ${this.#id}`)?.turns ?? [];
    const at = turns.findLastIndex(({ role, text }) => role === "user" && text.includes(this.#seen));
    const after = turns.slice(at + 1, -1);
    return {
      isRead: at >= 0,
      isMarked: after.some(({ text }) => /^\[(stopped by the user|no answer)/.test(text)),
    };
  }
}

it.each(cells)(
  "when the model %s, %s brings the prompt back, and the model reads no unmarked text",
  { timeout: 60_000 },
  async (faultName, key) => {
    fault = faults[faultName] ?? "refused";
    await useModelAt(model.url);
    const all = actions.map((action) => new Cell(action));
    const each = <T>(step: (cell: Cell) => Promise<T>) => Promise.all(all.map(step));
    await each(async (cell) => {
      await cell.open();
      await cell.say("earlier one");
      await cell.say("earlier two");
    });
    if (fault === "refused") await useModelAt(`http://127.0.0.1:${await freePort()}/v1`);
    await each(async (cell) => {
      await cell.ask();
      await cell.press(key);
    });
    await useModelAt(model.url);
    const marked = { isRead: true, isMarked: true };
    const command = { isRead: false, isMarked: false };
    expect(await each((cell) => cell.next())).toEqual([marked, command, command, marked, marked]);
  },
);
