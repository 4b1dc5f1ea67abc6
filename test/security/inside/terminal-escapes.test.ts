import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../../../cli/app/main.ts";
import { printable } from "../../../cli/app/printable.ts";
import type { CommandEntry } from "../../../cli/app/program.ts";
import { commands } from "../../../cli/commands/command-table.ts";
import { PeerError } from "../../../shared/protocol/errors.ts";
import { type Method, methods } from "../../../shared/protocol/methods.ts";
import { assistant, type FakeGateway, type FakeMethod, startFakeGateway } from "../../cli/fake-gateway.ts";
import { fakeTerminal } from "../../cli/fake-terminal.ts";
import { type GsvRun, gsv } from "../../cli/run-gsv.ts";
import { newFolder } from "../../support/run/test-folders.ts";
import { hostile, hostileConfiguration, hostileResults } from "./hostile-results.ts";

/** Terminal escapes: other people's text must not control a user's terminal (CWE-150). */

/** Characters kept from terminals: controls except line breaks and tabs, and those that change the text direction. */
const unsafe =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\p{Bidi_Control}]/u;

/** The parts of `hostile` that a chat must not print; the chat itself draws with other sequences. */
const ofOthers = ["\u0007", "\u0000", "\u001b]", "\u001b[2J", "\u001b[8m", "\u009b", "\u202e", "\u2066"];

/** The sequence with which the program erases a line of progress. */
const ownErase = "\r\u001b[K";

/** Commands that run until stopped, change this machine, or request nothing. They print through the same code. */
const others = [
  "approvals watch",
  "admin",
  "bridge",
  "client",
  "node",
  "dev",
  "deploy",
  "init",
  "local-config",
  "completion",
  "upgrade",
  "doctor",
  "mcp config",
];

/** Arguments of commands that do not accept arbitrary text, and options that prevent questions. */
const given: Record<string, string[]> = {
  "approvals show": ["c5qswrjuz3w474cd"],
  "approvals allow": ["c5qswrjuz3w474cd"],
  "approvals deny": ["c5qswrjuz3w474cd", hostile],
  "budget set": ["day=2"],
  "budget raise": [hostile, "5"],
  "config set": ["userTimezone", "UTC"],
  "session set": ["label", hostile],
  "channel add": ["telegram", "--from", "-"],
  "channel remove": ["telegram", "--yes"],
  cp: ["laptop:/a.txt", "gsv:a.txt"],
  "cron add": ["every day at 7:30", hostile, "--yes"],
  "cron edit": [hostile, "--name", hostile, "--yes"],
  "cron remove": [hostile, "--yes"],
  "cron run": [hostile],
  "skills add": ["github", "--yes"],
  "skills remove": ["evil", "--yes"],
  "channel start": ["telegram"],
  "channel stop": ["telegram"],
  "channel status": ["telegram"],
  "channel test": ["telegram", hostile],
  "pair approve": ["telegram", hostile],
  "pair reject": ["telegram", hostile],
  "session reset": ["--yes"],
  "session delete": [hostile, "--yes"],
  "session import": [import.meta.filename, hostile, "--format", "pi"],
  "object import": [import.meta.filename, "--session", hostile, "--format", "pi"],
  "token create": ["evil"],
  "workspace edit": ["notes.md"],
  "memory why": ["0123456789abcdef"],
  "memory forget": ["0123456789abcdef"],
  "memory allow": ["0123456789abcdef"],
  "memory correct": ["0123456789abcdef", "evil"],
  "workspace restore": [hostile, hostile],
  "workspace clone": ["here"],
  "agent add": ["worker"],
  "agent remove": ["evil", "--yes"],
  "mcp add": ["evil", "https://mcp.example"],
  "mcp login": ["evil"],
  "mcp probe": ["evil"],
  "mcp remove": ["evil"],
  "mcp approve": ["evil", "--yes"],
  "mcp deny": ["evil"],
};

/** Commands that show no text of others. */
const silent = [
  "config set",
  "channel remove",
  "cron status",
  "skills add",
  "workspace edit",
  "agent add",
  "workspace clone",
];

const leaves = (entries: readonly CommandEntry[], before: string[] = []): [string, string][] =>
  entries.flatMap(({ name, commands: children }): [string, string][] => {
    const [word = "", ...parameters] = name.split(" ");
    const path = [...before, word];
    return children ? leaves(children, path) : [[path.join(" "), parameters.join(" ")]];
  });
const table = leaves(commands).filter(([path]) => !others.some((one) => `${path} `.startsWith(`${one} `)));

function argvOf(path: string, parameters: string): string[] {
  const needed = parameters.split(" ").filter((one) => one.startsWith("<"));
  return [...path.split(" "), ...(given[path] ?? needed.map(() => hostile))];
}

describe("a command at a terminal", () => {
  let gateway: FakeGateway;
  beforeEach(async () => {
    gateway = await startFakeGateway({});
    gateway.page = "https://gsv.example";
  });
  afterEach(() => gateway.close());

  const run = (argv: string[], isTTY: boolean): Promise<GsvRun> =>
    gsv(argv, {
      isTTY,
      isInteractive: argv.includes("edit") && argv.includes("workspace"),
      input: argv.includes("add") ? '{"botToken":"t"}' : "text",
      env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token", EDITOR: "true", BROWSER: "false" },
    });
  const answerAll = (answer: (method: Method) => unknown) => {
    gateway.methods = Object.fromEntries(
      methods.map((method): [string, FakeMethod] => [method, () => answer(method)]),
    );
  };
  const answerHostile = () => {
    answerAll((method) => hostileResults[method]);
    gateway.methods["config.get"] = ({ params }) =>
      params.path === undefined ? hostileConfiguration : hostileResults["config.get"];
  };

  it.each(table)("gsv %s %s shows the text of others without their escapes", async (path, parameters) => {
    answerHostile();
    const { code, stdout, stderr } = await run(argvOf(path, parameters), true);
    expect(stderr.replaceAll("evil", "").replaceAll(ownErase, "\n")).not.toMatch(/^gsv:/m);
    expect(code).toBe(0);
    expect((stdout + stderr).replaceAll(ownErase, "")).not.toMatch(unsafe);
    if (!silent.includes(path)) expect(stdout + stderr).toContain("evil");
  });

  it.each(table)("gsv %s %s shows an error of others without its escapes", async (path, parameters) => {
    answerAll(() => {
      throw new PeerError(400, hostile);
    });
    const { code, stdout, stderr } = await run(argvOf(path, parameters), true);
    expect(code).toBe(1);
    expect((stdout + stderr).replaceAll(ownErase, "")).not.toMatch(unsafe);
    expect(stderr).toContain("evil");
  });

  it("gsv doctor shows others' text without its escapes, in successes and failures", async () => {
    answerHostile();
    const found = await run(["doctor"], true);
    answerAll(() => {
      throw new PeerError(400, hostile);
    });
    const refused = await run(["doctor"], true);
    for (const { stdout, stderr } of [found, refused]) {
      expect(stdout).toContain("evil");
      expect(stderr).toBe("");
      expect(stdout).not.toMatch(unsafe);
    }
  });

  it.each([
    ["workspace cat", "<path>", hostile],
    ["session preview", "", hostile],
    ["logs", "", hostile],
    ["tools list", "", "evil\u001b[2J\u001b]0;owned\u0007\u009b1A\u202erev\u0000"],
  ])("gsv %s prints unchanged text to a pipe", async (path, parameters, expected) => {
    answerHostile();
    expect((await run(argvOf(path, parameters), false)).stdout).toContain(expected);
  });

  it.each([
    ["session preview", "session.preview"],
    ["tools list", "tools.list"],
    ["token list", "token.list"],
    ["pair list", "pair.list"],
  ] as const)("gsv %s --json prints unchanged text, even to a terminal", async (path, method) => {
    answerHostile();
    const { stdout } = await run([...path.split(" "), "--json"], true);
    expect(JSON.parse(stdout)).toEqual(hostileResults[method]);
  });

  it("gsv client shows an answer, tools and errors without their escapes", async () => {
    const sessionKey = "agent:main:main";
    gateway.methods = {
      "chat.send": ({ params: { runId }, emit }) => {
        const of = { runId, sessionKey };
        emit("chat", { ...of, state: "delta", text: hostile, seq: 0, attempt: 1, step: 0 });
        emit("tool.result", { ...of, callId: "c", tool: hostile, isError: true, preview: hostile });
        emit("chat", { ...of, state: "error", error: hostile });
        return { status: "started", runId };
      },
    };
    const { stdout, stderr } = await run(["client", "hello"], true);
    expect(stdout).toContain("evil");
    expect(stderr).toMatch(/⏵ evil.*✗ evil.*gsv: evil/s);
    for (const sequence of ofOthers) expect(stdout + stderr).not.toContain(sequence);
  });

  it("an interactive chat shows the same without escapes", async () => {
    const sessionKey = "agent:main:main";
    const home = newFolder();
    gateway.methods = {
      "session.get": () => ({ sessionKey }),
      "session.stats": () => ({ isProcessing: true, queueSize: 0 }),
    };
    const terminal = fakeTerminal({ HOME: home, GSV_URL: gateway.url, GSV_TOKEN: "good-token" }, home);
    const ended = main(["client", "--session", `s${hostile}`], terminal);
    await expect.poll(() => terminal.screen().at(-1)).toBe(">");
    gateway.emit("chat", { runId: "r", sessionKey, state: "final", message: assistant(hostile) });
    gateway.emit("chat", { runId: "q", sessionKey, state: "error", error: `second ${hostile}` });
    await expect.poll(() => terminal.screen().join("\n")).toContain("second evil");
    terminal.type("\u0004");
    await ended;
    for (const sequence of ofOthers) expect(terminal.written()).not.toContain(sequence);
  });
});

describe("printable text", () => {
  it.each([
    ["\u001b[31mred\u001b[0m", "red"],
    ["\u009b31mred", "red"],
    ["\u001b]0;title\u0007after", "after"],
    ["\u001b]8;;http://a.b\u001b\\link\u001b]8;;\u001b\\", "link"],
    ["\u001b]0;not ended\nnext line", "0;not ended\nnext line"],
    ["\u001b]0;one\nanother's\u0007end", "0;one\nanother'send"],
    ["\u001bPq\u001b\\x", "qx"],
    ["a\u001b", "a"],
    ["one\r\ntwo\rthree", "one\ntwo\nthree"],
    ["tab\tstays", "tab\tstays"],
    ["\u202eabc\u2069\u200f", "abc"],
    ["größe 日本 👍🏽 e\u0301", "größe 日本 👍🏽 e\u0301"],
  ])("of %j is %j", (text, expected) => {
    expect(printable(text)).toBe(expected);
  });

  it("hides nothing after an unterminated escape sequence", () => {
    for (const start of [
      "\u001b]0;",
      "\u009d0;",
      "\u001bP",
      "\u001b_",
      "\u001b^",
      "\u001bX",
      "\u001b[",
      "\u001b",
    ])
      expect(printable(`${start}\nthe rest`)).toContain("the rest");
  });
});

it("only writeText writes text to a terminal", () => {
  /** Files that write cursor movements, the program's help, JSON, or text that `drawable` made safe. */
  const own = [
    "app/terminal.ts",
    "app/main.ts",
    "app/context.ts",
    "chat/lines.ts",
    "chat/terminal/screen.ts",
    "chat/terminal/keyboard.ts",
    "commands/node/copy-command.ts",
  ];
  const folder = join(import.meta.dirname, "../../../cli");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  const direct = files.filter((file) =>
    /(stdout|stderr|answer|activity|output)\s*\.write\(|console\./.test(
      readFileSync(join(folder, file), "utf8"),
    ),
  );
  expect(direct.filter((file) => !own.includes(file))).toEqual([]);
});
