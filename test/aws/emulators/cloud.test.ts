import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { FunctionHost } from "../../../local/lambda/host.ts";
import { freePort, occupyPort } from "../../local/kept-port.ts";
import { bundleProgram } from "../../support/run/bundle-program.ts";
import { until } from "../../support/until.ts";
import type { AccessRequest } from "./access.ts";
import { type Cloud, type CloudOptions, startCloud } from "./cloud.ts";
import { openSpareInstances, startProcessHost } from "./lambda/process-host.ts";

const fixture = (name: string) => bundleProgram(new URL(`fixtures/${name}`, import.meta.url));
/** The next cloud takes over the processes, which have the SDK loaded. */
const spares = openSpareInstances();
const processes: CloudOptions["host"] = (env, log) =>
  startProcessHost({ env, log, spares, entry: () => functions });

/** The bundle of the fixture's functions: each of their processes loads the SDK in a third of the time. */
let functions: string;
let dir: string;
let lines: [string, string][];
let cloud: Cloud | undefined;

const start = async (more: Partial<CloudOptions> = {}): Promise<Cloud> => {
  lines = [];
  cloud = await startCloud({ dir, host: processes, log: (name, line) => lines.push([name, line]), ...more });
  return cloud;
};

beforeAll(async () => {
  functions = await fixture("functions.mjs");
});

afterAll(() => spares.close());

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "gsv-cloud-"));
});

/** Has the cloud listen on ports that it finds free again when it starts another time. */
async function keepPorts(): Promise<void> {
  const ports: Record<string, number> = {};
  for (const name of ["ws", "webhook", "dynamodb", "s3", "scheduler", "lambda", "ssm"])
    ports[name] = await freePort();
  await writeFile(join(dir, "cloud.json"), JSON.stringify({ ports }));
}

afterEach(async () => {
  await cloud?.close();
  cloud = undefined;
  await rm(dir, { recursive: true, force: true });
});

async function say(ws: string, text: string): Promise<string> {
  const socket = new WebSocket(ws);
  await once(socket, "open");
  const answer = once(socket, "message");
  socket.send(text);
  const [data] = await answer;
  socket.close();
  return String(data);
}

/** What the table holds under a key, read through the webhook. */
const stored = async (webhook: string, key: string) => {
  const answer = await fetch(`${webhook}/${key}`);
  return answer.status === 200 ? await answer.json() : undefined;
};

/** Nothing that the host is not for may go wrong. */
const faults = () => lines.filter(([name]) => name === "cloud");

describe("the local cloud", () => {
  it("carries a message through every service, over functions in processes of their own", async () => {
    const { ws, webhook } = await start();
    expect(await say(ws, "hello")).toBe("echo hello");
    await until(() => stored(webhook, "agent-hello"));
    expect(await stored(webhook, "agent-hello")).toEqual({ body: "hello" });
    await until(() => stored(webhook, "scheduled-hello"));
    await until(() => stored(webhook, "sweep"));
    expect(await stored(webhook, "sweep")).toEqual({ kind: "sweep" });
    expect(await stored(webhook, "absent")).toBeUndefined();
    expect(lines).toContainEqual(["agent", '{"event":"agent.invoked"}']);
    expect(faults()).toEqual([]);
  });

  it("finds everything after a restart, at the same addresses", async () => {
    await keepPorts();
    const { host: _, schedules: __, fire: ___, throttled: ____, close, ...first } = await start();
    expect(await say(first.ws, "hello")).toBe("echo hello");
    await until(() => stored(first.webhook, "agent-hello"));
    await until(() => stored(first.webhook, "scheduled-hello"));
    await close();

    const { ws, webhook, ...second } = await start();
    expect({ ws, webhook, ...second }).toMatchObject(first);
    expect(await stored(webhook, "agent-hello")).toEqual({ body: "hello" });
    expect(await say(ws, "again")).toBe("echo again");
  });

  it("returns the result of a function that is invoked by name", async () => {
    const { fire } = await start();
    expect(await fire("webhook", { rawPath: "/absent" })).toEqual({ statusCode: 404 });
    await expect(fire("other", {})).rejects.toThrow("Function not found");
    await expect(fire("webhook", {})).rejects.toMatchObject({ errorType: "TypeError" });
  });

  it("repeats the sweep every minute of its time", async () => {
    await start({ acceleration: 600 });
    await until(() => lines.filter(([name]) => name === "timer").length >= 4);
  });

  it("knows each function by its access key, and denies what the hook does not allow", async () => {
    const asked = new Map<string, AccessRequest>();
    const { ws, webhook } = await start({
      authorize: (request) => {
        asked.set(`${request.accessKeyId} ${request.action}`, request);
        return request.action !== "s3:PutObject";
      },
      invocations: { retryDelaysMs: [] },
    });
    expect(await say(ws, "hello")).toBe("echo hello");
    await until(() => faults().length > 0);
    expect(faults()[0]?.[1]).toContain("agent failed and is given up");
    expect(await stored(webhook, "agent-hello")).toBeUndefined();
    expect([...asked.keys()]).toEqual(
      expect.arrayContaining([
        "LOCALsocket execute-api:ManageConnections",
        "LOCALsocket lambda:InvokeFunction",
        "LOCALagent s3:PutObject",
        "LOCALwebhook dynamodb:GetItem",
      ]),
    );
    expect(asked.get("LOCALagent s3:PutObject")?.resource).toBe("arn:aws:s3:::gsv-storage/agents/hello");
  });

  it("refuses a second start on its folder and names the process", async () => {
    await start();
    await expect(startCloud({ dir, host: processes })).rejects.toThrow(
      `${dir} is in use by the process ${process.pid}`,
    );
  });

  it("says in one line that a port is taken or a folder cannot be written, and leaves nothing behind", async () => {
    const occupant = createServer();
    const port = await occupyPort(occupant);
    await expect(start({ port })).rejects.toThrow(`port ${port} is already in use`);
    await new Promise((resolve) => occupant.close(resolve));
    expect((await start({ port })).ws).toBe(`ws://127.0.0.1:${port}/ws`);

    await writeFile(join(dir, "file"), "");
    const below = join(dir, "file", "below");
    await expect(startCloud({ dir: below, host: processes })).rejects.toThrow(
      `cannot use ${below}: part of its path is a file`,
    );
  });

  it("starts again after kill -9 with what was acknowledged, at the same addresses", async () => {
    await keepPorts();
    const program = await fixture("cloud-process.ts");
    const child = spawn(process.execPath, [program, dir, functions], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [output] = await once(child.stdout, "data");
    const before = JSON.parse(String(output));
    expect(await say(before.ws, "kept")).toBe("echo kept");
    await until(() => stored(before.webhook, "agent-kept"));
    await expect(start()).rejects.toThrow(`in use by the process ${child.pid}`);
    child.kill("SIGKILL");
    await once(child, "exit");

    const { ws, webhook } = await start();
    expect([ws, webhook]).toEqual([before.ws, before.webhook]);
    expect(await stored(webhook, "agent-kept")).toEqual({ body: "kept" });
    await until(() => stored(webhook, "scheduled-kept"));
  });

  it("lets running functions end when it is closed, and cuts off those that hang", async () => {
    let ended = false;
    const host: FunctionHost = {
      functions: ["agent", "timer"],
      async invoke(name) {
        if (name === "timer") return new Promise(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, 100));
        ended = true;
      },
      close: async () => undefined,
    };
    const { fire, close } = await start({ host: () => host });
    void fire("agent", {});
    void fire("timer", {});
    await close();
    cloud = undefined;
    expect(ended).toBe(true);
  });
});
