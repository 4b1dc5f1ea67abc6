import { afterAll, beforeAll, expect, it } from "vitest";
import { type LoopbackServer, readBody, sendJson, serveLoopback } from "../../local/http/loopback.ts";
import { gsv } from "../cli/run-gsv.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelServer } from "../support/models/scripted-model.ts";
import { until } from "../support/until.ts";
import { type Stack, startStack } from "./stack.ts";

let stack: Stack;
let model: ModelServer;
let aws: LoopbackServer;
/** What AWS answers instead, by operation. */
let faults: Record<string, string>;

/** Lists what the functions have logged as CloudWatch Logs does: a line per page, and an empty page before them. */
function listEvents({ logGroupName, filterPattern, nextToken = "-1" }: Record<string, string>) {
  const text = JSON.parse(filterPattern ?? "") as string;
  const lines = stack.logs
    .filter((line) => logGroupName === `/aws/lambda/gsv-home-${line.function}`)
    .map(({ function: _, ...line }) => `${JSON.stringify(line)}\n`)
    .filter((line) => line.includes(text));
  const page = Number(nextToken);
  return {
    events: page < 0 ? [] : lines.slice(page, page + 1).map((message) => ({ message })),
    ...(page + 1 < lines.length ? { nextToken: String(page + 1) } : {}),
  };
}

beforeAll(async () => {
  model = await startOpenAiServer();
  const metrics = { POWERTOOLS_METRICS_NAMESPACE: "gsv", POWERTOOLS_SERVICE_NAME: "home" };
  stack = await startStack({ environment: (env) => ({ ...env, ...metrics }) });
  await stack.configure({
    model: { provider: "openai-compatible", id: "m", baseUrl: model.url },
    timeouts: { toolMs: 1000 },
  });
  aws = await serveLoopback(async (request, response) => {
    const operation = String(request.headers["x-amz-target"]).split(".")[1] ?? "";
    const input = JSON.parse(String(await readBody(request, 10_000))) as Record<string, string>;
    const fault = faults[operation];
    if (fault !== undefined) sendJson(response, 400, { __type: fault, message: fault });
    else if (operation === "FilterLogEvents") sendJson(response, 200, listEvents(input));
    else sendJson(response, 200, { Parameters: [] });
  });
});
afterAll(async () => {
  await stack?.close();
  await model?.close();
  await aws?.close();
});

async function run(...args: string[]) {
  process.env.AWS_ENDPOINT_URL = aws.origin;
  process.env.AWS_ENDPOINT_URL_SSM = aws.origin;
  process.env.AWS_ACCESS_KEY_ID = "test";
  process.env.AWS_SECRET_ACCESS_KEY = "test";
  const url = "wss://abc123.execute-api.eu-central-1.amazonaws.com/ws";
  return gsv(["logs", "--run", ...args, "--stage", "home", "--url", url, "--token", "t"]);
}

it("one command follows a run through the socket, agent and timer function, in order", async () => {
  faults = {};
  const client = await stack.client();
  const node = await stack.node("laptop", { Read: () => new Promise(() => {}) });
  model.queue(
    { toolCalls: [{ id: "call_1", name: "laptop__Read", arguments: { path: "diary" } }] },
    { text: "The node does not answer." },
    { text: "Another answer." },
  );
  const wanted = client.call("chat.send", { sessionKey: "main", message: "read my diary", runId: "slow" });
  await until(() => node.calls.length === 1, "the node has the call");
  await wanted;
  await client.ended("slow");
  await client.call("chat.send", { sessionKey: "main", message: "and now?", runId: "other" });
  await client.ended("other");
  await until(
    () => stack.logs.some((line) => line.event === "timer.out" && line.kind === "tool-timeout"),
    "it ended",
  );

  const { stdout, code } = await run("slow", "--json");
  expect(code).toBe(0);
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, string>);
  const hops = lines.map((line) => `${line.function} ${line.event}`);
  const expected = [
    ...["socket inbox.append", "agent run.start", "agent tool.dispatch", "agent agent.out"],
    ...["timer timer.in", "timer tool.timeout", "agent run.end"],
  ];
  expect(
    hops.filter((hop) => expected.includes(hop)).filter((hop, at, all) => all.indexOf(hop) === at),
  ).toEqual(expected);
  const times = lines.map(({ time }) => time);
  expect(times).toEqual([...times].sort());
  const ids = new Set(lines.map(({ correlationId, runId, entryId }) => correlationId ?? runId ?? entryId));
  expect([...ids]).toEqual(["slow"]);
  for (const line of lines) expect(line).toHaveProperty("requestId");
  expect(stdout).not.toContain("diary");

  const shown = (await run("slow", "--function", "timer")).stdout;
  expect(shown).toMatch(/^\S+Z timer {3}timer\.in kind=tool-timeout\n/);
  expect(shown).not.toContain("agent ");
}, 30_000);

it("an answer's figures are four metrics with one dimension, because each costs", async () => {
  const from = stack.logs.length;
  const client = await stack.client();
  model.queue({ text: "Hello." });
  await client.call("chat.send", { sessionKey: "main", message: "hello", runId: "measured" });
  await client.ended("measured");
  const records = () => stack.logs.slice(from).filter((line) => "_aws" in line);
  await until(() => records().length > 0, "the figures are logged");
  const [record] = records();
  const [directive] = (record as unknown as { _aws: { CloudWatchMetrics: unknown[] } })._aws
    .CloudWatchMetrics;
  const ms = "Milliseconds";
  expect(directive).toEqual({
    Namespace: "gsv",
    Dimensions: [["service"]],
    Metrics: [
      { Name: "WakeToFirstToken", Unit: ms },
      { Name: "ModelTime", Unit: ms },
      { Name: "InputTokens", Unit: "Count" },
      { Name: "OutputTokens", Unit: "Count" },
    ],
  });
  expect(record).toMatchObject({ function: "agent", service: "home" });
  const { WakeToFirstToken, ModelTime, OutputTokens } = record as unknown as Record<string, number>;
  expect(WakeToFirstToken).toBeGreaterThanOrEqual(0);
  expect(ModelTime).toBeGreaterThanOrEqual(0);
  expect(OutputTokens).toBeGreaterThan(0);
});

it.each([
  ["FilterLogEvents", "ResourceNotFoundException", "gsv-home has no logs in eu-central-1; choose"],
  ["FilterLogEvents", "AccessDeniedException", "allow them ssm:GetParametersByPath on /gsv/home and logs:"],
  ["GetParametersByPath", "AccessDeniedException", "may not read the logs of gsv-home"],
])("says what to do when %s fails with %s", async (operation, fault, message) => {
  faults = { [operation]: fault };
  const { code, stderr } = await run("slow");
  expect(code).toBe(1);
  expect(stderr).toContain(message);
});

it("says so when no line of the run was found", async () => {
  faults = {};
  expect((await run("unknown")).stderr).toContain(
    "no line of the run unknown was found; --since selects a longer period",
  );
});
