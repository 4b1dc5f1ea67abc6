import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, expect, it } from "vitest";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import { openClient, openNode } from "../../support/peer.ts";
import { until } from "../../support/until.ts";

interface Serving {
  ws: string;
  token: string;
  pid: number;
  process: ChildProcess;
}

const running: ChildProcess[] = [];

/** `npm start -- --serve --json`, without npm. */
async function serve(dir: string, env: Record<string, string>): Promise<Serving> {
  const process_ = spawn(process.execPath, ["cli/bin.mjs", "dev", "--serve", "--json", "--data", dir], {
    env: { PATH: String(process.env.PATH), HOME: dir, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  running.push(process_);
  const [line] = await once(createInterface({ input: process_.stdout as NodeJS.ReadableStream }), "line");
  return { ...JSON.parse(line), process: process_ };
}

async function kill({ process: killed }: Serving): Promise<void> {
  const ended = once(killed, "exit");
  killed.kill("SIGKILL");
  await ended;
}

afterEach(() => {
  for (const process_ of running.splice(0)) process_.kill("SIGKILL");
});

it("completes a turn that kill -9 interrupted in its model call and in its tool call, without duplicates", async () => {
  const dir = await mkdtemp(join(tmpdir(), "gsv-kill-"));
  // A gateway that starts again continues at once: the model answers when the node has connected again.
  let back = () => {};
  const isBack = new Promise<void>((resolve) => {
    back = resolve;
  });
  const call = { toolCalls: [{ name: "laptop__Bash", arguments: { command: "x" } }] };
  const rest = [
    { text: "never heard", hang: true },
    call,
    { text: "the first answer" },
    { text: "the second answer" },
  ];
  const model = await startOpenAiServer(async (_, index) => {
    if (index === 1) await isBack;
    return rest[index] ?? { error: { status: 400 } };
  });
  const env = { GSV_MODEL_BASE_URL: model.url, GSV_MODEL: "m" };
  const first = await serve(dir, env);
  const client = await openClient(first.ws, first.token);
  await openNode(first.ws, first.token, "laptop", { Bash: () => undefined });
  await client.call("chat.send", { sessionKey: "main", message: "survive this", runId: "turn" });
  await client.call("chat.send", { sessionKey: "main", message: "and this", runId: "next" });
  await until(() => model.active() === 1, "the model is called");
  await kill(first);

  const second = await serve(dir, env);
  const node = await openNode(second.ws, second.token, "laptop", { Bash: () => undefined });
  back();
  await until(() => node.calls.length === 1, "the turn went on, to its tool call");
  await kill(second);

  const third = await serve(dir, env);
  const again = await openNode(third.ws, third.token, "laptop", { Bash: () => undefined });
  const callId = String(node.calls[0]?.callId);
  expect(await again.call("tool.result", { callId, result: "done" })).toEqual({ ok: true });
  const watcher = await openClient(third.ws, third.token);
  type Preview = { messages: { role: string; content: unknown }[] };
  const preview = () => watcher.call<Preview>("session.preview", { sessionKey: "main" });
  await expect.poll(async () => (await preview()).messages.length).toBe(6);
  const { messages } = await preview();
  expect(messages.map((message) => message.role)).toEqual([
    "user",
    "assistant",
    "toolResult",
    "assistant",
    "user",
    "assistant",
  ]);
  expect(JSON.stringify(messages)).toContain("the second answer");
  await kill(third);
  await model.close();
  await rm(dir, { recursive: true, force: true });
});
