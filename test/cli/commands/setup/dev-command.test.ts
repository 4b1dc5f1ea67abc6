import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { writeGatewayFile } from "../../../../local/dev/dev-state.ts";
import { freePort, occupyPort } from "../../../local/kept-port.ts";
import { startOpenAiServer } from "../../../support/models/openai-server.ts";
import { startTelegramServer } from "../../../support/platforms/telegram/telegram-server.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { administer } from "../../administer.ts";
import { startFakeGateway } from "../../fake-gateway.ts";
import { type GsvProcess, killLeftovers, runGsv, startGsv } from "../../gsv-process.ts";
import { type GsvHere, gsv, interruptHere, startHere } from "../../run-gsv.ts";

afterEach(async () => {
  killLeftovers();
  await interruptHere();
  // `gsv dev` sets this for its process, which is also that of other tests here. 0 restores V8's default.
  setFlagsFromString("--heap-growing-percent=0");
});

/** Serves in this process. */
function serve(cwd: string, args: string[] = [], env = {}): Promise<Serving<GsvHere>> {
  return whenReady(startHere(["dev", "--serve", "--json", ...args], { cwd, env }));
}
/** Serves in a separate process. */
function serveApart(cwd: string): Promise<Serving<GsvProcess>> {
  return whenReady(startGsv(cwd, ["dev", "--serve", "--json"]));
}
async function whenReady<Run extends GsvHere | GsvProcess>(run: Run): Promise<Serving<Run>> {
  const [line] = await run.prints(/^\{.*\}$/m);
  return { run, ready: JSON.parse(line) };
}
interface Serving<Run> {
  run: Run;
  ready: Ready;
}
interface Ready {
  ws: string;
  webhook: string;
  token: string;
  pid: number;
}
async function end(run: GsvHere | GsvProcess, signal: NodeJS.Signals = "SIGINT"): Promise<number | null> {
  if ("child" in run) run.child.kill(signal);
  else process.emit(signal);
  return run.ended;
}

describe("gsv dev with a message on standard input, in a new folder", () => {
  const cwd = newFolder();
  let run: Awaited<ReturnType<typeof runGsv>>;
  beforeAll(async () => {
    writeFileSync(join(cwd, "a-file-of-mine.txt"), "x");
    run = await runGsv(cwd, ["dev"], { input: "which files are in this folder?\n" });
  });

  it("prints only the answer on standard output, and keeps the conversation for other commands", async () => {
    expect(run.code).toBe(0);
    expect(run.stdout).toContain("a-file-of-mine.txt");
    expect(run.stdout.split("\n")[0]).toContain("offline model");
    expect(run.stdout).not.toContain("⏵");
    expect(run.stderr).toContain("all data is in ~/.gsv;");
    expect(run.stderr).toMatch(/⏵ \S+ .* ✓/);

    const preview = await gsv(["session", "preview", "--json"], { cwd });
    expect(preview).toMatchObject({ code: 0 });
    const { messages } = JSON.parse(preview.stdout);
    expect(messages.map(({ role }: { role: string }) => role)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "assistant",
    ]);
    expect(preview.stderr).toBe("");
    expect(JSON.parse(readFileSync(join(cwd, ".gsv/gateway.json"), "utf8"))).not.toHaveProperty("pid");
  });

  it("lets only the user read the user's files, and keeps handler logs out of the chat", () => {
    expect(run.stdout + run.stderr).not.toContain('"event":');
    expect(readdirSync(join(cwd, ".gsv/logs"))).toEqual(
      expect.arrayContaining(["functions.log", "node.log"]),
    );
    expect(statSync(join(cwd, ".gsv/gateway.json")).mode & 0o777).toBe(0o600);
    expect(statSync(join(cwd, ".gsv")).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(cwd, ".gsv/.gitignore"), "utf8")).toBe("*\n");
  });
});

describe("gsv dev with messages on standard input", () => {
  it("writes the agent's files once, at the first chat, even if it only served before", async () => {
    const cwd = newFolder();
    const { run } = await serve(cwd);
    await end(run);
    await gsv(["dev"], { cwd, input: "hello\n" });
    const files = async () => (await gsv(["workspace", "ls"], { cwd })).stdout;
    expect(await files()).toContain("SOUL.md");
    await gsv(["workspace", "rm", "SOUL.md"], { cwd });
    await gsv(["dev"], { cwd, input: "hello\n" });
    expect(await files()).not.toContain("SOUL.md");
  });

  it("runs commands in the user's environment, not in the local cloud's, and without the model's key", async () => {
    const command =
      "echo region=$AWS_REGION endpoint=$AWS_ENDPOINT_URL_S3 key=$GSV_MODEL_API_KEY other=$MINE";
    const model = await startOpenAiServer(({ turns, tools }) => {
      const last = turns.at(-1);
      const name = tools.find((tool) => tool.endsWith("__Bash")) ?? "";
      return last?.role === "tool" ? { text: last.text } : { toolCalls: [{ name, arguments: { command } }] };
    });
    const named = { GSV_MODEL_BASE_URL: model.url, GSV_MODEL: "tiny", GSV_MODEL_API_KEY: "key-1" };
    const env = { ...named, AWS_REGION: "eu-west-9", MINE: "key-2" };
    const run = await runGsv(newFolder(), ["dev"], { input: "go\n", env });
    await model.close();
    expect(run.stdout).toContain("region=eu-west-9 endpoint= key= other=key-2");
  });

  it("uses the OpenAI-compatible server that the environment names, and fails when that server fails", async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(`${request.url} ${request.headers.authorization}`);
      request.resume().on("end", () => response.writeHead(400).end('{"error":{"message":"no such model"}}'));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const env = {
      GSV_MODEL_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      GSV_MODEL: "tiny",
      GSV_MODEL_API_KEY: "key-1",
    };
    const run = await gsv(["dev"], { input: "hello\n", env });
    server.close();
    expect(asked[0]).toBe("/v1/chat/completions Bearer key-1");
    expect(run.stderr).toContain("model: openai-compatible/tiny (GSV_MODEL_BASE_URL");
    expect(run.stderr).toContain("no such model");
    expect(run.code).toBe(1);
  });

  it("reports what is missing when the environment names half a model", async () => {
    const run = await gsv(["dev"], { env: { GSV_MODEL: "tiny" } });
    expect(run.code).toBe(2);
    expect(run.stderr).toMatch(/^gsv: GSV_MODEL is set without GSV_MODEL_BASE_URL[^\n]*\n$/m);
  });
});

describe("gsv dev with a message, in a folder whose gateway runs", () => {
  it("asks that gateway, and leaves it running", async () => {
    const cwd = newFolder();
    const { run, ready } = await serveApart(cwd);
    const asked = await gsv(["dev"], { cwd, input: "hello\nwhich nodes are connected?\n" });
    expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining("No node is connected") });
    expect(asked.stderr).toMatch(
      new RegExp(`^gsv \\S+: asking the gateway that runs in \\.gsv \\(pid ${ready.pid}\\)\n`),
    );
    const preview = await gsv(["session", "preview"], { cwd });
    expect(preview.stdout).toContain("which nodes are connected?");
    expect(await end(run)).toBe(0);
  });

  it("says what to do when that gateway has another version, or options ask for a gateway of its own", async () => {
    const cwd = newFolder();
    const fake = await startFakeGateway({});
    const { url } = fake;
    await writeGatewayFile(join(cwd, ".gsv"), { url, token: "good-token", pid: process.pid });
    const refused = await gsv(["dev"], { cwd, input: "hello\n" });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(
      /^gsv: gsv 9\.9\.9 already runs in \.gsv \(pid \d+\), and this is gsv \S+; restart it, or ask it with `gsv client`\n$/,
    );
    const own = await gsv(["dev", "--port", "0"], { cwd, input: "hello\n" });
    expect(own.stderr).toContain("a gateway is already running in");
    expect(fake.requests).toEqual([]);
    await fake.close();
  });
});

describe("gsv dev --serve", () => {
  it("prints one line of JSON when it is ready, serves other commands, and ends on a signal", async () => {
    const cwd = newFolder();
    const { run, ready } = await serveApart(cwd);
    expect(Object.keys(ready).sort()).toEqual(["mcp", "openai", "page", "pid", "token", "webhook", "ws"]);
    expect(ready.pid).toBe(run.child.pid);
    const status = await gsv(["status", "--json"], { cwd });
    expect(JSON.parse(status.stdout)).toMatchObject({ url: ready.ws, model: "openai-compatible/offline" });
    expect(JSON.parse(status.stdout).source).toBe(`.gsv (running, pid ${ready.pid})`);
    expect((await gsv(["workspace", "ls"], { cwd })).stdout).toContain("SOUL.md\n");
    const answer = await gsv(["client", "hello"], { cwd });
    expect(answer).toMatchObject({ code: 0, stdout: expect.stringContaining("offline model") });

    const second = await runGsv(cwd, ["dev", "--serve"]);
    expect(second.code).toBe(1);
    expect(second.stderr).toBe(
      `gsv: a gateway is already running in .gsv (pid ${ready.pid}); \`gsv client\` connects to it\n`,
    );
    mkdirSync(join(cwd, "below"));
    const below = await runGsv(join(cwd, "below"), ["dev", "--serve"]);
    expect(below.stderr).toContain(`in ${cwd}/.gsv (pid ${ready.pid})`);
    expect(below.stderr).toContain("`gsv dev --data .gsv` starts another one here\n");
    expect(await end(run)).toBe(0);
    expect(run.stdout().trim().split("\n")).toHaveLength(1);
  });

  it("keeps its data across restarts: token, address, sessions, configuration, and the user's own model", async () => {
    const cwd = newFolder();
    const first = await serve(cwd, ["--port", String(await freePort())]);
    await gsv(["client", "remember me"], { cwd });
    const env = { GSV_ADMIN_TOKEN: await administer(cwd, first.run) };
    await gsv(["config", "set", "userTimezone", "Europe/Berlin"], { cwd, env });
    await gsv(["config", "set", "model", '{"provider":"anthropic","id":"mine"}'], { cwd, env });
    expect(await end(first.run, "SIGTERM")).toBe(0);
    const second = await serve(cwd);
    expect([second.ready.token, second.ready.ws]).toEqual([first.ready.token, first.ready.ws]);
    const status = JSON.parse((await gsv(["status", "--json"], { cwd })).stdout);
    expect(status).toMatchObject({ sessions: 1, model: "anthropic/mine" });
    expect((await gsv(["config", "get", "userTimezone"], { cwd })).stdout).toBe("Europe/Berlin\n");
    expect(await end(second.run)).toBe(0);
  });

  it("reads a provider's key from the environment, and never shows it", async () => {
    const cwd = newFolder();
    const { run } = await serve(cwd, [], { ANTHROPIC_API_KEY: "sk-ant-secret" });
    expect(run.stderr()).toMatch(/model: anthropic\/claude-\S+ \(ANTHROPIC_API_KEY\)/);
    const config = await gsv(["config", "get", "apiKeys"], { cwd });
    expect(JSON.parse(config.stdout)).toEqual({ anthropic: "***" });
    await end(run);
    expect(run.stdout() + run.stderr()).not.toContain("sk-ant-secret");
    // A later start without the key still uses it.
    const later = await serve(cwd);
    expect(later.run.stderr()).toContain("model: anthropic/claude-");
    await end(later.run);
  });

  it("creates a new token when its own was revoked, and disconnects the old one", async () => {
    const cwd = newFolder();
    const first = await serve(cwd);
    const env = { GSV_ADMIN_TOKEN: await administer(cwd, first.run) };
    const list = async (): Promise<{ id: string; name: string }[]> =>
      JSON.parse((await gsv(["token", "list", "--json"], { cwd, env })).stdout).tokens;
    const [local] = await list();
    await gsv(["token", "revoke", local?.id ?? ""], { cwd, env });
    await end(first.run);
    expect((await gsv(["session", "list"], { cwd })).code).toBe(0);
    const second = await serve(cwd);
    expect(second.ready.token).not.toBe(first.ready.token);
    expect((await list()).filter(({ name }) => name === "local")).toEqual([
      expect.not.objectContaining({ id: local?.id }),
    ]);
    await end(second.run);
  });

  it("continues after it was killed", async () => {
    const cwd = newFolder();
    const first = await serveApart(cwd);
    await gsv(["client", "remember me"], { cwd });
    await end(first.run, "SIGKILL");
    const between = await gsv(["session", "preview"], { cwd });
    expect(between.stdout).toMatch(/ user\n {2}remember me\n/);
    const second = await serve(cwd);
    expect(second.ready.token).toBe(first.ready.token);
    expect(await end(second.run)).toBe(0);
  });

  it("serves on the port of --port, with 0 on a free one, and reports in one line a port in use", async () => {
    const taken = createTcpServer();
    const port = await occupyPort(taken);
    const refused = await gsv(["dev", "--serve", "--port", String(port)]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toBe(`gsv: port ${port} is in use; choose another with --port\n`);
    await new Promise((resolve) => taken.close(resolve));
    const cwd = newFolder();
    const { run, ready } = await serve(cwd, ["--port", String(port)]);
    expect(ready.ws).toBe(`ws://127.0.0.1:${port}/ws`);
    await end(run);
    const elsewhere = await serve(cwd, ["--port", "0"]);
    expect(elsewhere.ready.ws).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/ws$/);
    expect(elsewhere.ready.ws).not.toBe(ready.ws);
    await end(elsewhere.run);
  });

  it("registers a tunnel's address with the platforms", async () => {
    const cwd = newFolder();
    const telegram = await startTelegramServer();
    const { run } = await serve(cwd, ["--webhook-url", "https://tunnel.example"]);
    const input = JSON.stringify({ botToken: telegram.token, apiBaseUrl: telegram.url });
    const env = { GSV_ADMIN_TOKEN: await administer(cwd, run) };
    const added = await gsv(["channel", "add", "telegram", "--from", "-", "--json"], { cwd, env, input });
    expect(JSON.parse(added.stdout)).toMatchObject({
      webhookUrl: "https://tunnel.example/telegram/default",
      registration: { status: "registered" },
    });
    await end(run);
    await telegram.close();
    const wrong = await gsv(["dev", "--serve", "--webhook-url", "tunnel.example"]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("http or https address")]);
  });

  it("reports in one line that its folder cannot be written", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "taken"), "a file");
    const run = await gsv(["dev", "--serve", "--data", "taken"], { cwd });
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toMatch(/^gsv: .*taken.*--data\n$/);
  });

  it("keeps its data in the folder of --data, where other commands find it", async () => {
    const cwd = newFolder();
    const { run, ready } = await serve(cwd, ["--data", "elsewhere"]);
    const status = await gsv(["status", "--json", "--data", "elsewhere"], { cwd });
    expect(JSON.parse(status.stdout).url).toBe(ready.ws);
    expect((await gsv(["status"], { cwd })).stderr).toContain("no gateway is configured");
    await end(run);
  });
});

describe("gsv node", () => {
  it("gives a gateway access to a folder until a signal", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "note.txt"), "written here");
    const { run } = await serve(cwd);
    const node = startGsv(cwd, ["node", "--id", "desk", "--json"]);
    const [line] = await node.prints(/^\{.*\}$/m);
    expect(JSON.parse(line)).toMatchObject({ nodeId: "desk", workspace: cwd });
    expect((await gsv(["tools", "list"], { cwd })).stdout).toContain("desk__Read");
    const read = await gsv(["tools", "call", "desk__Read", "path=note.txt"], { cwd });
    expect(read.stdout).toContain("written here");
    expect((await gsv(["logs", "--node", "desk"], { cwd })).stdout).toContain("Read done");
    expect(JSON.parse((await gsv(["status", "--json"], { cwd })).stdout).nodes).toEqual(["desk"]);
    expect(await end(node)).toBe(0);
    await end(run);
    const args = ["node", "--url", "ws://127.0.0.1:9/ws", "--workspace", "none", "--token", "t"];
    const refused = await gsv(args, { cwd });
    expect(refused.stderr).toBe(`gsv: the workspace is not a folder: ${join(cwd, "none")}\n`);
  });
});

describe("a local gateway that is not running", () => {
  it("is started for one command after the other when several need it concurrently", async () => {
    const cwd = newFolder();
    await gsv(["dev"], { cwd, input: "hello\n" });
    const runs = await Promise.all([1, 2, 3].map(() => runGsv(cwd, ["session", "list", "--json"])));
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
    for (const { stdout } of runs) expect(JSON.parse(stdout).count).toBe(1);
  });

  it("is not started for a chat or a node, because it would stop with the command", async () => {
    const cwd = newFolder();
    const { run } = await serve(cwd);
    await end(run);
    for (const command of [["client", "hi"], ["node"]]) {
      const refused = await gsv(command, { cwd });
      expect(refused.code).toBe(1);
      expect(refused.stderr).toBe(
        "gsv: the local gateway of .gsv is not running; start it with `gsv dev` or `npm start`\n",
      );
    }
  });
});
