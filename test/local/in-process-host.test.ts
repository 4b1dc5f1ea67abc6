import { afterEach, describe, expect, it } from "vitest";
import type { FunctionHost } from "../../local/lambda/host.ts";
import { startInProcessHost } from "../../local/lambda/in-process-host.ts";

const env = { TABLE_NAME: "gsv-local" };
const functions = { agent: { timeoutMs: 900_000, memoryMb: 512 }, hasty: { timeoutMs: 50, memoryMb: 128 } };
const lines: [string, string][] = [];
let host: FunctionHost | undefined;

const start = (handler: unknown, environment = env) => {
  lines.length = 0;
  host = startInProcessHost({
    env: environment,
    functions,
    load: async () => ({ handler }),
    log: (name, line) => lines.push([name, line]),
  });
  return host;
};

afterEach(() => host?.close());

describe("the in-process host", () => {
  it("sets the environment and runs the handler with a Lambda context", async () => {
    const context = (await start((event: unknown, context: { getRemainingTimeInMillis(): number }) => ({
      event,
      context,
      remaining: context.getRemainingTimeInMillis(),
      tableName: process.env.TABLE_NAME,
    })).invoke("agent", { text: "hello" })) as { remaining: number };
    expect(context).toMatchObject({
      event: { text: "hello" },
      context: { functionName: "agent", memoryLimitInMB: "512" },
      tableName: "gsv-local",
    });
    expect(context.remaining).toBeGreaterThan(800_000);
  });

  it("shares no object between the caller and the handler", async () => {
    const event = { list: [1] };
    const result = await start((received: { list: number[] }) => {
      received.list.push(2);
      return received;
    }).invoke("agent", event);
    expect(event).toEqual({ list: [1] });
    expect(result).toEqual({ list: [1, 2] });
    expect(await start(() => undefined).invoke("agent", undefined)).toBeNull();
  });

  it("reports what the handler throws, a missing handler and an unknown function", async () => {
    const throwing = start(() => {
      throw new RangeError("as told");
    });
    await expect(throwing.invoke("agent", {})).rejects.toMatchObject({
      errorType: "RangeError",
      message: "as told",
    });
    await expect(throwing.invoke("other", {})).rejects.toThrow("Function not found");
    await expect(start(undefined).invoke("agent", {})).rejects.toMatchObject({
      errorType: "Runtime.HandlerNotFound",
    });
  });

  it("fails an invocation whose time is up", async () => {
    await expect(start(() => new Promise(() => undefined)).invoke("hasty", {})).rejects.toMatchObject({
      errorType: "Sandbox.Timedout",
    });
  });

  it("keeps the functions' output off this process's, also after a wait", async () => {
    const written: string[] = [];
    const original = process.stdout.write;
    process.stdout.write = ((chunk: string) => written.push(chunk) > 0) as typeof process.stdout.write;
    try {
      const hosted = start(async () => {
        process.stdout.write("first\n");
        await new Promise((resolve) => setTimeout(resolve, 1));
        process.stderr.write("second\nthird\n");
      });
      await hosted.invoke("agent", {});
      process.stdout.write("mine\n");
      await hosted.close();
    } finally {
      process.stdout.write = original;
    }
    expect(lines).toEqual([
      ["agent", "first"],
      ["agent", "second"],
      ["agent", "third"],
    ]);
    expect(written).toEqual(["mine\n"]);
  });

  it("refuses another environment in a process that has loaded the functions", () => {
    start(() => undefined);
    expect(() => start(() => undefined, { TABLE_NAME: "other" })).toThrow("another TABLE_NAME");
  });
});
