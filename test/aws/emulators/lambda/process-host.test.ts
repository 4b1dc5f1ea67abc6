import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bundleProgram } from "../../../support/run/bundle-program.ts";
import { until } from "../../../support/until.ts";
import { type ProcessHost, startProcessHost } from "./process-host.ts";

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const functions = {
  agent: { timeoutMs: 900_000, memoryMb: 512 },
  hasty: { timeoutMs: 300, memoryMb: 128 },
  broken: { timeoutMs: 29_000, memoryMb: 128 },
};

let host: ProcessHost;
let lines: [string, string][];

beforeEach(() => {
  lines = [];
  process.env.GSV_TEST_SECRET = "not for functions";
  host = startProcessHost({
    env: { TABLE_NAME: "gsv-local" },
    functions,
    entry: (name) => fixture(name === "broken" ? "broken.mjs" : "probe.mjs"),
    maxInstances: 2,
    log: (name, line) => lines.push([name, line]),
  });
});

afterEach(() => host.close());

describe("the process host", () => {
  it("runs a handler with a Lambda context, its own access key and no environment but its own", async () => {
    const result = await host.invoke("agent", { text: "hello" });
    expect(result).toMatchObject({
      echo: { text: "hello" },
      name: "agent",
      accessKeyId: "LOCALagent",
      tableName: "gsv-local",
    });
    expect(result).not.toHaveProperty("inherited");
    const { remaining } = result as { remaining: number };
    expect(remaining).toBeGreaterThan(800_000);
    expect(remaining).toBeLessThanOrEqual(900_000);
  });

  it("uses an idle instance again and starts another for an event that comes meanwhile", async () => {
    await host.invoke("agent", {});
    expect(await host.invoke("agent", {})).toMatchObject({ invocations: 2 });
    expect(host.instances("agent")).toBe(1);
    await Promise.all([
      host.invoke("agent", { do: "wait", ms: 50 }),
      host.invoke("agent", { do: "wait", ms: 50 }),
    ]);
    expect(host.instances("agent")).toBe(2);
  });

  it("lets events wait when every instance is busy", async () => {
    const waits = Array.from({ length: 7 }, () => host.invoke("agent", { do: "wait", ms: 20 }));
    expect(await Promise.all(waits)).toHaveLength(7);
    expect(host.instances("agent")).toBe(2);
  });

  it("reports what the handler throws", async () => {
    await expect(host.invoke("agent", { do: "throw" })).rejects.toMatchObject({
      errorType: "TypeError",
      message: "as told",
    });
    expect(await host.invoke("agent", {})).toMatchObject({ invocations: 2 });
  });

  it("fails the invocation whose process exits or is killed, and goes on with a new one", async () => {
    await expect(host.invoke("agent", { do: "exit" })).rejects.toMatchObject({
      errorType: "Runtime.ExitError",
      message: "Runtime exited with error: exit status 3",
    });
    const hanging = host.invoke("agent", { do: "hang" });
    await until(() => lines.length === 2);
    expect(host.kill("agent")).toBe(1);
    await expect(hanging).rejects.toMatchObject({ message: "Runtime exited with error: signal: SIGKILL" });
    expect(await host.invoke("agent", {})).toMatchObject({ invocations: 1 });
  });

  it("makes instances forget what they keep, behind the events that they run", async () => {
    const [idle, busy] = [host.invoke("agent", {}), host.invoke("agent", { do: "wait", ms: 200 })];
    const { pid } = (await idle) as { pid: number };
    await until(() => lines.length === 2);
    host.renew("agent");
    const renewed = { pid, invocations: 1, accessKeyId: "LOCALagent", tableName: "gsv-local" };
    expect(await host.invoke("agent", {})).toMatchObject(renewed);
    const late = (await busy) as { pid: number };
    expect(late).toMatchObject({ invocations: 1, echo: { do: "wait" } });
    const both = [host.invoke("agent", { do: "wait", ms: 50 }), host.invoke("agent", { do: "wait", ms: 50 })];
    expect(await Promise.all(both)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ pid, invocations: 2 }),
        expect.objectContaining({ pid: late.pid, invocations: 1 }),
      ]),
    );
    expect(host.instances("agent")).toBe(2);
  });

  it("makes only the instances of one function forget", async () => {
    await host.invoke("agent", {});
    host.renew("hasty");
    expect(await host.invoke("agent", {})).toMatchObject({ invocations: 2 });
  });

  it("gives a waiting event a new instance when one dies", async () => {
    const busy = [host.invoke("agent", { do: "hang" }), host.invoke("agent", { do: "hang" })];
    const failures = Promise.allSettled(busy);
    const waiting = host.invoke("agent", { text: "next" });
    await until(() => lines.length === 2);
    host.kill();
    expect((await failures).every(({ status }) => status === "rejected")).toBe(true);
    expect(await waiting).toMatchObject({ echo: { text: "next" } });
  });

  it("kills a process whose time is up", async () => {
    await expect(host.invoke("hasty", { do: "hang" })).rejects.toMatchObject({
      errorType: "Sandbox.Timedout",
    });
    await until(() => host.instances("hasty") === 0);
  });

  it("reports a bundle that cannot be loaded, and an unknown function", async () => {
    await expect(host.invoke("broken", {})).rejects.toMatchObject({ message: "cannot load" });
    await expect(host.invoke("other", {})).rejects.toThrow("Function not found");
    await expect(host.invoke("constructor", {})).rejects.toThrow("Function not found");
  });

  it("sends the functions' output to the log", async () => {
    await host.invoke("agent", {});
    await until(() => lines.length > 0);
    expect(lines[0]).toEqual(["agent", JSON.stringify({ event: "probe", invocations: 1 })]);
  });

  it("refuses events after it was closed, those that waited too", async () => {
    const pending = [1, 2, 3].map(() => host.invoke("agent", { do: "hang" }));
    const settled = Promise.allSettled(pending);
    await host.close();
    expect((await settled).every(({ status }) => status === "rejected")).toBe(true);
    await expect(host.invoke("agent", {})).rejects.toThrow("closed");
    expect(host.instances()).toBe(0);
  });

  it("leaves no process behind when its own is killed", async () => {
    const program = await bundleProgram(new URL("../fixtures/host-parent.ts", import.meta.url));
    const parent = spawn(process.execPath, [program, fixture("probe.mjs")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [output] = await once(parent.stdout, "data");
    const pid = Number(output);
    parent.kill("SIGKILL");
    await until(() => {
      try {
        process.kill(pid, 0);
        return false;
      } catch {
        return true;
      }
    });
  });
});
