import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bundleProgram } from "../../../support/run/bundle-program.ts";
import { until } from "../../../support/until.ts";
import { type Cloud, startCloud } from "../cloud.ts";
import { clientConfig } from "../support.ts";
import { countInLineage } from "./lambda.ts";
import { startProcessHost } from "./process-host.ts";

let dir: string;
let cloud: Cloud;
const lines: [string, string][] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gsv-recursion-"));
  const program = await bundleProgram(new URL("../fixtures/recursion.mjs", import.meta.url));
  cloud = await startCloud({
    dir,
    host: (env, log) => startProcessHost({ env, log, entry: () => program, maxInstances: 1 }),
    log: (name, line) => lines.push([name, line]),
  });
});
beforeEach(() => {
  lines.length = 0;
});
afterAll(async () => {
  await cloud.close();
  await rm(dir, { recursive: true, force: true });
});

const runs = (name: string) => lines.filter(([of, line]) => of === name && line.includes('"left"')).length;
const invoke = (FunctionName: string, left: number) =>
  new LambdaClient(clientConfig(cloud.lambda)).send(
    new InvokeCommand({ FunctionName, InvocationType: "Event", Payload: JSON.stringify({ left }) }),
  );

describe("a function that invokes itself", () => {
  it("is stopped before its 17th run, by the header that its SDK sends", async () => {
    await invoke("timer", 30);
    await until(() => lines.some(([name, line]) => name === "cloud" && line.includes("invokes itself")));
    expect(runs("timer")).toBe(16);
    expect(lines.find(([name]) => name === "cloud")?.[1]).toContain("timer failed and is given up");
  });

  it("goes on where recursion is permitted", async () => {
    await invoke("agent", 20);
    await until(() => runs("agent") === 21);
    expect(lines.filter(([name]) => name === "cloud")).toEqual([]);
  });

  it("begins a new chain with an event that comes from elsewhere", async () => {
    for (let i = 0; i < 3; i++) await invoke("timer", 10);
    await until(() => runs("timer") === 33);
    expect(lines.filter(([name]) => name === "cloud")).toEqual([]);
  });
});

it("the lineage counts each function of a chain by itself and keeps the rest of the header", () => {
  const first = countInLineage("Root=1-65-ab;Parent=cd;Sampled=0", "agent");
  const second = countInLineage(first.header, "socket");
  const third = countInLineage(second.header, "agent");
  expect([first, second, third].map(({ count }) => count)).toEqual([1, 1, 2]);
  expect(third.header).toMatch(/^Root=1-65-ab;Parent=cd;Sampled=0;Lineage=[0-9a-f]{8}:2\|[0-9a-f]{8}:1$/);
});
