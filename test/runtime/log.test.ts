import { execFileSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "aws-lambda";
import { afterEach, beforeEach, expect, it } from "vitest";
import { wrapHandler } from "../../shared/runtime/handler.ts";
import { correlate, log, logError, setLogOutput } from "../../shared/runtime/log.ts";

let lines: Record<string, unknown>[];
let restore: () => void;
beforeEach(() => {
  lines = [];
  restore = setLogOutput((line) => void lines.push(JSON.parse(line)));
});
afterEach(() => restore());

const context = (awsRequestId: string) => ({ awsRequestId }) as Context;
const about = (field: string) => lines.map((line) => [line.event, line[field]]);

it("puts the request on every line of an invocation, and the run as soon as it is known", async () => {
  const handle = async (runId: string) => {
    log("one");
    if (runId !== "") correlate(runId);
    log("two", { n: 1 });
  };
  const invoke = wrapHandler("f", handle, { fields: () => ({}) });
  await invoke("run-1", context("r-1"));
  await invoke("", context("r-2"));
  expect(about("requestId")).toEqual([
    ...["f.in", "one", "two", "f.out"].map((event) => [event, "r-1"]),
    ...["f.in", "one", "two", "f.out"].map((event) => [event, "r-2"]),
  ]);
  const ofRun = about("correlationId").slice(0, 4);
  expect(ofRun).toEqual([
    ["f.in", undefined],
    ["one", undefined],
    ["two", "run-1"],
    ["f.out", "run-1"],
  ]);
  expect(lines.slice(4).every((line) => !("correlationId" in line))).toBe(true);
  expect(lines.every((line) => line.coldStart === false)).toBe(true);
});

it("knows the run of an event that names it from the first line", async () => {
  const options = { fields: () => ({}), run: (event: { runId?: string }) => event.runId };
  const invoke = wrapHandler("f", async () => {}, options);
  await invoke({ runId: "run-1" }, context("r-1"));
  await invoke({}, context("r-2"));
  expect(lines.map((line) => line.correlationId)).toEqual(["run-1", "run-1", undefined, undefined]);
});

it("keeps invocations apart that run in one process at the same time", async () => {
  const handle = async (runId: string) => {
    correlate(runId);
    await delay(1);
    log("later");
  };
  const invoke = wrapHandler("f", handle, { fields: (runId) => ({ runId }) });
  const ids = ["a", "b", "c"];
  await Promise.all(ids.map((id) => invoke(id, context(`r-${id}`))));
  const later = lines.filter(({ event }) => event === "later" || event === "f.out");
  expect(later).toHaveLength(6);
  for (const { requestId, correlationId } of later) expect(requestId).toBe(`r-${correlationId}`);
});

/** Runs code with `wrapHandler`, `log` and `logError` in a new process, and returns its log. */
function linesIn(env: Record<string, string>, code: string): Record<string, unknown>[] {
  const module = (name: string) =>
    JSON.stringify(new URL(`../../shared/runtime/${name}.ts`, import.meta.url));
  const script = `import { wrapHandler } from ${module("handler")}; import { log, logError } from ${module("log")}; ${code}`;
  const args = ["--import", "tsx", "--input-type=module", "-e", script];
  const output = execFileSync(process.execPath, args, { encoding: "utf8", env: { ...process.env, ...env } });
  return output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

it("marks the lines of an instance's first invocation", () => {
  const code =
    'const f = wrapHandler("f", async () => log("one"), { fields: () => ({}) }); await f({}, {}); await f({}, {});';
  const found = linesIn({ AWS_LAMBDA_INITIALIZATION_TYPE: "on-demand" }, code);
  expect(found.map((line) => line.coldStart)).toEqual([true, true, true, false, false, false]);
});

it("leaves out what is below the level of the environment", () => {
  const found = linesIn(
    { POWERTOOLS_LOG_LEVEL: "ERROR" },
    'log("one"); logError("two.failed", new Error("no"));',
  );
  expect(found).toMatchObject([{ event: "two.failed", level: "error" }]);
});

it("logs an error's stack, but not its other fields, which may have content", () => {
  logError("x.failed", Object.assign(new Error("refused"), { issues: [{ input: "dear diary" }] }));
  expect(lines[0]).toMatchObject({
    level: "error",
    error: expect.stringContaining("Error: refused\n    at"),
  });
  expect(JSON.stringify(lines)).not.toContain("diary");
});
