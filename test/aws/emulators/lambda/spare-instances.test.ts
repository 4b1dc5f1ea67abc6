import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../../../support/until.ts";
import {
  openSpareInstances,
  type ProcessHost,
  type SpareInstances,
  startProcessHost,
} from "./process-host.ts";

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const functions = {
  agent: { timeoutMs: 900_000, memoryMb: 512 },
  broken: { timeoutMs: 29_000, memoryMb: 128 },
};

interface Outcome {
  pid: number;
  invocations: number;
  tableName?: string;
  inherited?: string;
}

const hosts: ProcessHost[] = [];
afterEach(async () => {
  // A host without spares ends the processes that it took over.
  for (const host of hosts.splice(0)) await host.close();
});

function start(env: Record<string, string>, lines: string[] = [], spares?: SpareInstances): ProcessHost {
  const host = startProcessHost({
    env,
    functions,
    entry: (name) => fixture(name === "broken" ? "broken.mjs" : "probe.mjs"),
    log: (_name, line) => lines.push(line),
    spares,
  });
  hosts.push(host);
  return host;
}

const probe = (host: ProcessHost, event: object = {}) => host.invoke("agent", event) as Promise<Outcome>;

describe("a spare instance", () => {
  it("serves the next host as a new one would: with its environment, its log and nothing kept", async () => {
    const spares = openSpareInstances();
    const [before, after]: [string[], string[]] = [[], []];
    const first = start({ TABLE_NAME: "one", GSV_TEST_SECRET: "of the first" }, before, spares);
    await probe(first);
    const { pid } = await probe(first);
    await until(() => before.length === 2, "the first host has its lines");
    await first.close();
    expect(first.instances()).toBe(0);
    const second = start({ TABLE_NAME: "two" }, after, spares);
    const outcome = await probe(second);
    expect(outcome).toMatchObject({ pid, invocations: 1, tableName: "two" });
    expect(outcome).not.toHaveProperty("inherited");
    expect(await probe(second)).toMatchObject({ pid, invocations: 2 });
    await until(() => after.length === 2, "the second host has its lines");
    expect(before).toHaveLength(2);
    await second.close();
    await spares.close();
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  it("is not made of an instance that runs an event at the close", async () => {
    const spares = openSpareInstances();
    const lines: string[] = [];
    const host = start({}, lines, spares);
    const { pid } = await probe(host);
    const hanging = probe(host, { do: "hang" });
    const failed = expect(hanging).rejects.toThrow("Runtime exited");
    await until(() => lines.length === 2, "it runs");
    await host.close();
    await failed;
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    expect(await probe(start({}))).not.toMatchObject({ pid });
  });

  it("is not used once its process has ended", async () => {
    const spares = openSpareInstances();
    const first = start({}, [], spares);
    const { pid } = await probe(first);
    await first.close();
    process.kill(pid, "SIGKILL");
    await until(() => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    }, "the process has ended");
    const next = await probe(start({}, [], spares));
    expect(next).toMatchObject({ invocations: 1 });
    expect(next.pid).not.toBe(pid);
    await hosts.pop()?.close();
    await spares.close();
  });

  it("serves only a function with the same code", async () => {
    const spares = openSpareInstances();
    const first = start({}, [], spares);
    await probe(first);
    await first.close();
    await expect(start({}, [], spares).invoke("broken", {})).rejects.toThrow("cannot load");
    await spares.close();
  });
});
