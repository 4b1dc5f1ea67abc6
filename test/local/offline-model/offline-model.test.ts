import { existsSync } from "node:fs";
import {
  type AssistantMessage,
  type Message,
  type Model,
  normalizeContext,
  type Tool,
} from "@earendil-works/pi-ai";
import { streamSimple } from "@earendil-works/pi-ai/api/openai-completions";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { nodeTools } from "../../../cli/node/tools/offered.ts";
import { type OfflineModel, startOfflineModel } from "../../../local/offline-model/offline-model-server.ts";
import { label } from "../../../local/offline-model/offline-turn.ts";
import { toolBench } from "../../cli/node/tool-bench.ts";

/** The offline model behind its real client with the real tools of a node. */

let offline: OfflineModel;
beforeAll(async () => {
  offline = await startOfflineModel();
});
afterAll(() => offline.close());

const bench = toolBench();
beforeEach(() => {
  // Commands run in a login shell; this machine's profile is none of the test's business.
  vi.stubEnv("HOME", bench.workspace);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const nativeNames = ["gsv__memory", "gsv__ReadFile"];
const nodeNames = ["Glob", "Read", "Grep", "Bash"];
const onNodes = (...nodes: string[]) => nodes.flatMap((node) => nodeNames.map((tool) => `${node}__${tool}`));
const laptop = [...onNodes("laptop"), ...nativeNames];

type Call = { name: string; args: Record<string, unknown> };
type Execute = (call: Call) => Promise<unknown>;

/** Runs a call on the node. */
const execute: Execute = async ({ name, args }) => bench.call(name.split("__")[1] ?? "", args);

function toolsNamed(names: string[]): Tool[] {
  return names.map((name) => {
    const definition = nodeTools.find((tool) => name.endsWith(`__${tool.definition.name}`))?.definition;
    return {
      name,
      description: name,
      parameters: definition?.inputSchema ?? { type: "object" },
    } as unknown as Tool;
  });
}

/** A conversation: each message is answered with the text of the turn, and the calls it made are kept. */
function talk(names: string[] = laptop, run: Execute = execute) {
  const messages: Message[] = [];
  const calls: Call[] = [];
  const say = async (text: string): Promise<string> => {
    messages.push({ role: "user", content: text, timestamp: 1 });
    for (let round = 0; round < 5; round++) {
      const message = await ask(messages, names);
      messages.push(message);
      const asked = message.content.flatMap((part) => (part.type === "toolCall" ? [part] : []));
      if (asked.length === 0) return textOf(message);
      for (const { id, name, arguments: args } of asked) {
        calls.push({ name, args });
        const text = await run({ name, args }).then(
          (result) => (typeof result === "string" ? result : JSON.stringify(result)),
          (error: Error) => `Error: ${error.message}`,
        );
        messages.push({
          role: "toolResult",
          toolCallId: id,
          toolName: name,
          content: [{ type: "text", text }],
          isError: text.startsWith("Error: "),
          timestamp: 1,
        });
      }
    }
    throw new Error("the turn does not end");
  };
  return { say, calls, messages };
}

async function ask(messages: Message[], names: string[]): Promise<AssistantMessage> {
  const model: Model<"openai-completions"> = {
    id: offline.model,
    name: "offline",
    api: "openai-completions",
    provider: "openai-compatible",
    baseUrl: offline.url,
    reasoning: false,
    input: ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 128_000,
    maxTokens: 8_192,
  };
  const context = {
    systemPrompt: "You run inside GSV.",
    messages: structuredClone(messages),
    tools: toolsNamed(names),
  };
  const message = await streamSimple(model, normalizeContext(context), { apiKey: "none" }).result();
  expect(message.errorMessage).toBeUndefined();
  return message;
}

function textOf(message: AssistantMessage): string {
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

/** The answer of a fresh conversation without the label. */
async function answerTo(text: string, names?: string[], run?: Execute): Promise<string> {
  const answer = await talk(names, run).say(text);
  expect(answer.startsWith(`${label}\n\n`)).toBe(true);
  return answer.slice(label.length + 2);
}

describe("the offline model", () => {
  it("says on the first line of its first answer that it is one, and only there", async () => {
    const { say } = talk();
    const [first, ...rest] = (await say("hello")).split("\n");
    expect(first).toBe(
      "(built-in offline model: rules, not a language model; set a provider key for a real one)",
    );
    expect(rest.join("\n")).toContain("list files");
    expect(await say("which nodes are connected?")).toBe(
      "Connected nodes and their tools:\n- laptop: Glob, Read, Grep, Bash",
    );
  });

  it("says so too when another model has answered before", async () => {
    const { say, messages } = talk();
    await say("hello");
    const real = messages.at(-1) as AssistantMessage;
    real.content = [{ type: "text", text: "I am a language model." }];
    expect(await say("what can you do?")).toContain(label);
  });

  it("does what a scheduled job says, also when it runs late", async () => {
    for (const late of ["", "(This run is late: it was due at noon.)\n"]) {
      const { say, calls } = talk();
      await say(
        `[cron · Friday, February 13, 2026 — 3:30 PM UTC]\nScheduled job: greet\n${late}\nrun echo hello`,
      );
      expect(calls).toEqual([{ name: "laptop__Bash", args: { command: "echo hello" } }]);
    }
  });

  it("has a command run in the background on the node that is named, and tells how it ended", async () => {
    const running = async () => ({ status: "running", sessionId: "s1" });
    for (const text of [
      "run npm test in the background on laptop",
      "Run npm test on laptop in the background",
    ]) {
      const { say, calls } = talk(laptop, running);
      expect(await say(text)).toContain("`npm test` runs in the background; I will say how it ended.");
      expect(calls).toEqual([{ name: "laptop__Bash", args: { command: "npm test", background: true } }]);
    }
    const event = (report: object) =>
      answerTo(`System event: async_exec_completion\n${JSON.stringify({ nodeId: "laptop", ...report })}`);
    expect(await event({ event: "finished", exitCode: 0, outputTail: "212 passed\n" })).toBe(
      "The command in the background on laptop is done:\n```\n212 passed\n```",
    );
    expect(await event({ event: "failed", exitCode: 3, outputTail: "" })).toBe(
      "The command in the background on laptop ended with exit code 3:\n(no output)",
    );
    expect(await event({ event: "timed_out", outputTail: "x".repeat(4000) })).toContain(
      "laptop ran out of time and was ended:\n```\nxxx",
    );
  });

  it("lists the files of the node's folder", async () => {
    for (const path of ["b.txt", "a.md", "src/deep.ts"]) bench.put(path, "x");
    const { say, calls } = talk();
    const answer = await say("which files are in this folder?");
    expect(calls).toEqual([{ name: "laptop__Glob", args: { pattern: "*" } }]);
    expect(answer).toBe(`${label}\n\n2 files in ${bench.workspace}:\n- a.md\n- b.txt`);
    expect(await say("list files in src")).toContain("- src/deep.ts");
    expect(await say("find *.ts")).toContain("1 file for **/*.ts");
    expect(await say("list all files")).toContain("3 files for **/*");
    expect(await say("what is in the nowhere folder?")).toMatch(/^I could not list the files: .*nowhere/);
  });

  it("names fifty files and counts the others", async () => {
    for (let i = 0; i < 57; i++) bench.put(`f${String(i).padStart(2, "0")}`, "");
    const lines = (await answerTo("ls")).split("\n");
    expect(lines[0]).toContain("57 files");
    expect(lines.slice(1, -1)).toHaveLength(50);
    expect(lines.at(-1)).toBe("… and 7 more");
  });

  it("reads files without their line numbers", async () => {
    bench.put("package.json", '{\n  "name": "x"\n}\n');
    bench.put("notes.txt", Array.from({ length: 300 }, (_, i) => `line ${i + 1}`).join("\n"));
    bench.put("fence.md", "```js\ncode\n```\n");
    bench.put("wide.txt", "x".repeat(20_000));
    bench.put("empty.txt", "");
    expect(await answerTo("show me package.json")).toBe('package.json:\n```json\n{\n  "name": "x"\n}\n```');
    expect(await answerTo("read fence.md")).toContain("````md\n```js\ncode\n```\n````");
    expect(await answerTo("read notes.txt")).toContain("line 200\n```\n… and more");
    expect((await answerTo("read wide.txt")).length).toBeLessThan(9000);
    expect(await answerTo("read empty.txt")).toBe("empty.txt:\n```txt\n\n```");
    expect(await answerTo("read missing.txt")).toMatch(/^I could not read missing\.txt: .*missing\.txt/);
  });

  it("runs commands and tells how they ended", async () => {
    expect(await answerTo("run echo hello")).toBe("`echo hello`:\n```\nhello\n```");
    expect(await answerTo("$ echo one; exit 3")).toBe(
      "`echo one; exit 3` ended with exit code 3:\n```\none\n```",
    );
    expect(await answerTo("execute: true")).toBe("`true`:\n(no output)");
    const long = await answerTo("run `seq 300`");
    expect(long).toContain("(only the end)\n```\n101\n");
    expect(long.endsWith("300\n```")).toBe(true);
  });

  it("really runs them", async () => {
    await answerTo("run `touch made`");
    expect(existsSync(`${bench.workspace}/made`)).toBe(true);
  });

  it("says how a command went that timed out or was killed", async () => {
    const outcome = async (result: object) => answerTo("run x", laptop, async () => result);
    expect(await outcome({ status: "failed", exitCode: null, timedOut: true, output: "" })).toContain(
      "ran out of time",
    );
    expect(await outcome({ status: "failed", exitCode: null, signal: "SIGKILL", output: "" })).toContain(
      "ended by SIGKILL",
    );
  });

  it("remembers and recalls by the tool for memories", async () => {
    const memories: string[] = [];
    const { say, calls } = talk(laptop, async ({ args }) => {
      if (args.action === "remember") memories.push(String(args.content));
      const result =
        args.action === "remember"
          ? { text: args.content }
          : { memories: memories.map((text) => ({ text })) };
      return { ok: true, result };
    });
    expect(await say("what do you remember?")).toContain("I remember nothing about that.");
    expect(await say("remember that the bins go out on Monday")).toBe(
      "I will remember: the bins go out on Monday",
    );
    expect(await say("do you remember the bins?")).toBe("I remember:\n- the bins go out on Monday");
    expect(calls.map(({ name, args }) => [name, args])).toEqual([
      ["gsv__memory", { action: "recall", query: "everything" }],
      ["gsv__memory", { action: "remember", content: "the bins go out on Monday" }],
      ["gsv__memory", { action: "recall", query: "the bins" }],
    ]);
  });

  it("says why it cannot remember", async () => {
    const refuse: Execute = async () => ({ ok: false, error: "Memories are private." });
    expect(await answerTo("remember that tea", laptop, refuse)).toBe(
      "I could not use my memory: Memories are private.",
    );
  });

  it("picks the node by its name, and takes the first when none is named", async () => {
    const tools = [...onNodes("laptop", "my-server"), ...nativeNames];
    const used = async (text: string) => {
      const { say, calls } = talk(tools);
      return { answer: await say(text), names: calls.map((call) => call.name) };
    };
    expect((await used("on My-Server list files")).names).toEqual(["my-server__Glob"]);
    expect((await used("list files on my-server")).names).toEqual(["my-server__Glob"]);
    const first = await used("run echo hi");
    expect(first.names).toEqual(["laptop__Bash"]);
    expect(first.answer).toContain("`echo hi` on laptop:\n```\nhi\n```");
    const unknown = await used("on phone list files");
    expect(unknown.names).toEqual([]);
    expect(unknown.answer).toContain("No node named phone is connected; connected: laptop, my-server.");
  });

  it("says what is missing and how to get it when no node can do it", async () => {
    expect(await answerTo("list files", nativeNames)).toMatch(/a connected node with Glob\. .*`gsv node`/);
    expect(await answerTo("run date", ["phone__Read"])).toMatch(
      /^No node here offers the tool Bash; connected: phone/,
    );
    expect(await answerTo("what do you remember?", onNodes("laptop"))).toContain("no tool for memory");
    expect(await answerTo("which nodes are connected?", [])).toContain("No node is connected");
  });

  it("understands messages from channels behind their envelope", async () => {
    bench.put("a.md", "x");
    expect(await answerTo("[telegram · 2026-03-02 14:03 · Ann] @gsv_bot list files please")).toContain(
      "- a.md",
    );
  });

  it("says what it can do when it does not understand", async () => {
    for (const text of ["write a poem about cats", "", "?".repeat(5000), "日本語"]) {
      expect(await answerTo(text)).toMatch(/^I do not understand that\. I can, by simple rules/);
    }
  });

  it("tells plainly of errors and of results it does not know", async () => {
    const outcome = async (result: unknown) => answerTo("list files", laptop, async () => result);
    expect(await outcome("Error: tool timed out after 60000 ms")).toBe(
      "I could not list the files: tool timed out after 60000 ms",
    );
    expect(await outcome("half of a resu")).toBe("```\nhalf of a resu\n```");
    expect(await outcome({ other: 1 })).toBe('```\n{\n  "other": 1\n}\n```');
  });
});
