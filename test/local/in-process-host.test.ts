import { afterEach, describe, expect, it } from "vitest";
import { startInProcessHost } from "../../local/in-process-gateway.ts";
import type { FunctionHost, HostedFunction } from "../../local/lambda/host.ts";
import { log } from "../../shared/runtime/log.ts";

const lines: [string, string][] = [];
let host: FunctionHost | undefined;

const start = (handler: HostedFunction["handler"]) => {
  lines.length = 0;
  host = startInProcessHost({
    functions: {
      agent: { handler, timeoutMs: 900_000, memoryMb: 512 },
      hasty: { handler, timeoutMs: 50, memoryMb: 128 },
    },
    log: (name, line) => lines.push([name, line]),
  });
  return host;
};

afterEach(() => host?.close());

describe("the in-process host", () => {
  it("runs the handler with a Lambda context", async () => {
    const context = (await start((event: unknown, context: { getRemainingTimeInMillis(): number }) => ({
      event,
      context,
      remaining: context.getRemainingTimeInMillis(),
    })).invoke("agent", { text: "hello" })) as { remaining: number };
    expect(context).toMatchObject({
      event: { text: "hello" },
      context: { functionName: "agent", memoryLimitInMB: "512" },
    });
    expect(context.remaining).toBeGreaterThan(800_000);
  });

  it("reports what the handler throws, and an unknown function", async () => {
    const throwing = start(() => {
      throw new RangeError("as told");
    });
    await expect(throwing.invoke("agent", {})).rejects.toMatchObject({
      errorType: "RangeError",
      message: "as told",
    });
    await expect(throwing.invoke("other", {})).rejects.toThrow("Function not found");
  });

  it("keeps the place where the handler failed in the error's stack", async () => {
    const failed = start(function openLedger() {
      throw new Error("no ledger");
    }).invoke("agent", {});
    await expect(failed).rejects.toMatchObject({ stack: expect.stringContaining("openLedger") });
  });

  it("fails an invocation whose time is up", async () => {
    await expect(start(() => new Promise(() => undefined)).invoke("hasty", {})).rejects.toMatchObject({
      errorType: "Sandbox.Timedout",
    });
  });

  it("sends the functions' log lines to its log, and back to standard output at its end", async () => {
    const hosted = start(async () => log("first", { n: 1 }));
    await hosted.invoke("agent", {});
    expect(lines).toMatchObject([["functions", expect.stringContaining('"event":"first","n":1')]]);
    await hosted.close();
    const written: string[] = [];
    const original = process.stdout.write;
    process.stdout.write = ((chunk: string) => written.push(chunk) > 0) as typeof process.stdout.write;
    try {
      log("second");
    } finally {
      process.stdout.write = original;
    }
    expect(written).toEqual([expect.stringContaining('"event":"second"')]);
    expect(lines).toHaveLength(1);
  });
});
