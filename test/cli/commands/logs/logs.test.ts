import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Context } from "../../../../cli/app/context.ts";
import type { GlobalOptions } from "../../../../cli/app/options.ts";
import { showGatewayLogs } from "../../../../cli/commands/logs/gateway-logs.ts";
import { followNodeLog, linesAfter } from "../../../../cli/commands/logs/logs-command.ts";
import { showRunLogs } from "../../../../cli/commands/logs/run-logs.ts";
import { functionNames } from "../../../../infra/permissions.ts";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { type FakeGateway, startFakeGateway } from "../../fake-gateway.ts";
import { gsv } from "../../run-gsv.ts";

/** A context, and its output. */
function contextIn(cwd: string, env: Record<string, string>, flags: GlobalOptions = {}) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const texts = ["", ""];
  stdout.on("data", (chunk) => (texts[0] += chunk));
  stderr.on("data", (chunk) => (texts[1] += chunk));
  const terminal = { stdin, stdout, stderr, env: { HOME: cwd, ...env }, cwd };
  return { context: new Context(terminal, flags), out: () => texts[0], notes: () => texts[1] };
}

describe("gsv logs -f of a node", () => {
  let gateway: FakeGateway;
  let log: string[];
  let away: boolean;
  beforeEach(async () => {
    [log, away] = [["one", "two", "three"], false];
    gateway = await startFakeGateway({
      "logs.get": ({ params }) => {
        if (away) throw new PeerError(503, "node laptop is not connected");
        const lines = log.slice(-(params.lines ?? 100));
        return { nodeId: "laptop", lines, count: lines.length, truncated: false };
      },
    });
  });
  afterEach(() => gateway.close());

  it("prints each new line once, waits for a node that is away, and ends at a signal", async () => {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const env = { GSV_URL: gateway.url, GSV_TOKEN: "good-token" };
    const { context, out, notes } = contextIn(newFolder(), env);
    const following = followNodeLog(context, { nodeId: undefined, lines: 2 }, ended, 1);
    await expect.poll(out).toBe("two\nthree\n");
    log.push("four", "four");
    await expect.poll(out).toBe("two\nthree\nfour\nfour\n");
    away = true;
    await expect.poll(notes).toContain("the node laptop does not answer");
    log.push("five");
    away = false;
    await expect.poll(out).toBe("two\nthree\nfour\nfour\nfive\n");
    end();
    await following;
    expect(notes()).toMatch(/^gsv: .*waiting for it\ngsv: the node laptop is back\n$/);
    await context.close();
  });

  it.each([
    [["a", "b"], ["a", "b", "c"], ["c"]],
    [["a", "b", "c"], ["c", "d"], ["d"]],
    [["b"], ["a", "b"], []],
    [["a"], ["x", "y"], ["x", "y"]],
    [[], ["x"], ["x"]],
    [["x", "x"], ["x", "x", "x"], []],
  ])("finds what is new behind %j in %j", (seen, next, expected) => {
    expect(linesAfter(seen, next)).toEqual(expected);
  });
});

describe("gsv logs --gateway of a local gateway", () => {
  const line = (second: number, event: string) =>
    JSON.stringify({ time: `2026-11-22T23:41:0${second}.000Z`, event });

  it("prints the lines of its files sorted by time, and new lines", async () => {
    const cwd = newFolder();
    const logs = join(cwd, ".gsv/logs");
    mkdirSync(logs, { recursive: true });
    const known = JSON.stringify({ url: "ws://127.0.0.1:1/ws", token: "t" });
    writeFileSync(join(cwd, ".gsv/gateway.json"), known);
    writeFileSync(join(logs, "functions.log"), `${line(1, "a")}\n${line(3, "c")}\n`);
    writeFileSync(join(logs, "cloud.log"), `${line(2, "b")}\n`);
    const all = [line(1, "a"), line(2, "b"), line(3, "c")];
    expect((await gsv(["logs", "--gateway"], { cwd })).stdout).toBe(`${all.join("\n")}\n`);
    expect((await gsv(["logs", "--gateway", "--lines", "1"], { cwd })).stdout).toBe(`${all[2]}\n`);
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const { context, out } = contextIn(cwd, {});
    const following = showGatewayLogs(context, {}, 1, ended);
    await expect.poll(out).toBe(`${all[2]}\n`);
    appendFileSync(join(logs, "functions.log"), `${line(4, "d")}\n`);
    await expect.poll(out).toBe(`${all[2]}\n${line(4, "d")}\n`);
    end();
    await following;
  });
});

describe("gsv logs --run of a local gateway", () => {
  const line = (second: number, event: string, requestId: string, fields: object = {}) =>
    `${JSON.stringify({ time: `2026-11-22T23:41:0${second}.000Z`, event, requestId, coldStart: false, ...fields })}\n`;

  it("prints the lines of the run in order with their functions, also from the previous file, and new lines", async () => {
    const cwd = newFolder();
    const logs = join(cwd, ".gsv/logs");
    mkdirSync(logs, { recursive: true });
    writeFileSync(join(cwd, ".gsv/gateway.json"), JSON.stringify({ url: "ws://127.0.0.1:1/ws", token: "t" }));
    const ofRun = { correlationId: "r1" };
    const old = line(1, "socket.in", "a") + line(2, "inbox.append", "a", { kind: "message", entryId: "r1" });
    const newer =
      line(3, "agent.in", "b") +
      line(5, "run.end", "b", { steps: 2, ...ofRun }) +
      line(4, "run.start", "b", ofRun) +
      line(6, "run.start", "b", { correlationId: "r12" });
    writeFileSync(join(logs, "functions.log.1"), old);
    writeFileSync(join(logs, "functions.log"), newer);
    const text = [
      "2026-11-22T23:41:02.000Z socket  inbox.append kind=message",
      "2026-11-22T23:41:04.000Z agent   run.start",
      "2026-11-22T23:41:05.000Z agent   run.end steps=2",
    ];
    expect((await gsv(["logs", "--run", "r1"], { cwd })).stdout).toBe(`${text.join("\n")}\n`);
    const { stdout } = await gsv(["logs", "--run", "r1", "--json"], { cwd });
    expect(JSON.parse(stdout.split("\n")[2] ?? "")).toEqual({
      ...{ time: "2026-11-22T23:41:05.000Z", function: "agent", event: "run.end", steps: 2 },
      ...{ requestId: "b", coldStart: false, correlationId: "r1" },
    });
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const { context, out } = contextIn(cwd, {});
    const following = showRunLogs(context, {}, "r1", ended, 1);
    await expect.poll(out).toBe(`${text.join("\n")}\n`);
    appendFileSync(join(logs, "functions.log"), line(7, "timer.in", "c", ofRun));
    const last = "2026-11-22T23:41:07.000Z timer   timer.in";
    await expect.poll(out).toBe(`${[...text, last].join("\n")}\n`);
    end();
    await following;
  });
});

describe("gsv logs --gateway of a gateway on AWS", () => {
  const url = "wss://abc123.execute-api.eu-central-1.amazonaws.com/ws";
  let cwd = "";
  let env: Record<string, string> = {};
  /** A program `aws` that records its calls and prints a line with the log group. */
  const aws = (script: string) => {
    const file = join(cwd, "bin/aws");
    writeFileSync(file, `#!/bin/sh\necho "$*" >> "$HOME/calls"\n${script}\n`);
    chmodSync(file, 0o755);
  };
  beforeEach(() => {
    cwd = newFolder();
    mkdirSync(join(cwd, "bin"));
    mkdirSync(join(cwd, ".config/gsv"), { recursive: true });
    const config = `[gateway]\nurl = "${url}"\ntoken = "t"\n[deploy]\nstage = "prod"\n`;
    writeFileSync(join(cwd, ".config/gsv/config.toml"), config, { mode: 0o600 });
    env = { PATH: `${cwd}/bin:${process.env.PATH}` };
    aws(
      'case "$3" in *socket) echo "2026-11-22T10:00:02 two";; *agent) echo "2026-11-22T10:00:01 one";; esac',
    );
  });
  const run = (...args: string[]) => gsv(["logs", "--gateway", ...args], { cwd, env });
  const calls = () => readFileSync(join(cwd, "calls"), "utf8").trim().split("\n").sort();

  it("reads the log group of each function with the AWS command line, in the gateway's region", async () => {
    const { code, stdout } = await run();
    expect(code).toBe(0);
    expect(stdout).toBe("agent   2026-11-22T10:00:01 one\nsocket  2026-11-22T10:00:02 two\n");
    const how = "--since 600s --format short --region eu-central-1";
    const groups = [...functionNames].sort().map((name) => `/aws/lambda/gsv-prod-${name}`);
    expect(calls()).toEqual(groups.map((group) => `logs tail ${group} ${how}`));
  });

  it("accepts a function, a time, a profile and a stage, and prints a line of JSON for each line", async () => {
    const options = ["--function", "agent", "--since", "1h30m", "--profile", "me", "--stage", "test"];
    const { stdout } = await run(...options, "--json");
    expect(JSON.parse(stdout)).toEqual({ function: "agent", line: "2026-11-22T10:00:01 one" });
    expect(calls().filter((call) => call.startsWith("logs"))).toEqual([
      "logs tail /aws/lambda/gsv-test-agent --since 5400s --format short --region eu-central-1 --profile me",
    ]);
  });

  it("reads the generated log groups of a gateway in another CDK app, which it publishes", async () => {
    aws(
      'case "$4" in /gsv/home/log-groups) echo "timer=Mine-TimerLog-1,agent=Mine-AgentLog-2";; *) echo "10:00 $3";; esac',
    );
    const { stdout } = await run("--function", "agent", "--stage", "home");
    expect(stdout).toBe("agent   10:00 Mine-AgentLog-2\n");
    const query = "--query Parameter.Value --output text --region eu-central-1";
    expect(calls()[1]).toBe(`ssm get-parameter --name /gsv/home/log-groups ${query}`);
  });

  it("follows until a signal, and kills the programs it started", async () => {
    aws(
      'trap "echo ended >> $HOME/calls; exit 0" TERM; echo "2026-11-22T10:00:00 $3"; while :; do sleep 0.05; done',
    );
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const { context, out } = contextIn(cwd, env);
    const following = showGatewayLogs(context, { function: "timer" }, 100, ended);
    await expect.poll(out).toBe("timer   2026-11-22T10:00:00 /aws/lambda/gsv-prod-timer\n");
    end();
    await following;
    await expect.poll(() => calls()[0]).toBe("ended");
    expect(calls()[1]).toContain("--follow");
  });

  it("prints the error of the AWS command line, and what to do without one", async () => {
    aws("echo 'Unable to locate credentials' >&2; exit 253");
    expect((await run()).stderr).toMatch(/^gsv: aws logs tail \S+ failed: Unable to locate credentials\n$/);
    aws(
      "echo 'aws: error: argument operation: Invalid choice, valid choices are:' >&2; echo untag >&2; exit 252",
    );
    expect((await run()).stderr).toMatch(
      /^gsv: this AWS command line has no `aws logs tail`; install version 2.*\n$/,
    );
    env = { PATH: join(cwd, "nowhere") };
    const missing = await run("--function", "agent");
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain("install it (https://aws.amazon.com/cli/)");
  });

  it.each([
    [["--gateway", "--function", "agnet"], "--function must be one of socket, webhook, timer, agent"],
    [["--gateway", "--since", "soon"], "--since must be a duration such as 90s, 10m or 2h"],
    [["--gateway", "--node", "x"], "--gateway and --node are different logs"],
    [["--since", "1h"], "--since needs --gateway or --run"],
    [["--run", "r1", "--lines", "5"], "--run prints all lines of one run; omit --lines"],
  ])("refuses %j", async (args, message) => {
    const refused = await gsv(["logs", ...args], { cwd, env });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(message);
  });
});
