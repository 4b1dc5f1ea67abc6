import { fork } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleProgram } from "../../../support/run/bundle-program.ts";
import { publicAddresses, type Report } from "./hostile-case.ts";
import { hostileCases } from "./hostile-cases.ts";
import { startHostileServer } from "./hostile-server.ts";

const mega = 1024 * 1024;
let reports: Report[];
let cpuMs = 0;
let stop: () => Promise<void>;

beforeAll(async () => {
  const [server, program] = await Promise.all([
    startHostileServer(hostileCases),
    bundleProgram(new URL("reader.ts", import.meta.url)),
  ]);
  // A function has 512 MB.
  const execArgv = ["--max-old-space-size=256"];
  const child = fork(program, server.ports.map(String), {
    execArgv,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  stop = async () => {
    if (child.exitCode === null) child.kill("SIGKILL");
    await server.close();
  };
  const [told] = (await Promise.race([
    once(child, "message"),
    once(child, "exit").then(([code, signal]) => [{ error: `the reader ended with ${code ?? signal}` }]),
  ])) as [{ reports?: Report[]; cpuMs?: number; error?: string }];
  expect(told.error).toBeUndefined();
  ({ reports = [], cpuMs = 0 } = told);
  // It uses half a minute of a core; a busy machine needs many times as long.
}, 600_000);
afterAll(() => stop?.());

/** Names of the cases of reports, with a fact about each. */
const failing = (isWrong: (report: Report) => boolean, fact: (report: Report) => unknown) =>
  reports.filter(isWrong).map((report) => [hostileCases[report.index]?.name, fact(report)]);

describe("hostile pages and addresses", () => {
  it("are more than 500, each with a name of its own, and all are opened", () => {
    expect(hostileCases.length).toBeGreaterThan(500);
    expect(new Set(hostileCases.map(({ name }) => name)).size).toBe(hostileCases.length);
    expect(reports).toHaveLength(hostileCases.length);
    expect(reports.flatMap(({ dialled }) => dialled).length).toBeGreaterThan(300);
  });

  it("cause no connection to an address that is not public", () => {
    const isPrivate = (address: string) => !publicAddresses.includes(address);
    expect(
      failing(
        ({ dialled }) => dialled.some(isPrivate),
        ({ dialled }) => dialled,
      ),
    ).toEqual([]);
  });

  it("stay within the limits of bytes, text, time and memory", () => {
    expect(
      failing(
        ({ bytesRead }) => bytesRead > 9 * mega,
        ({ bytesRead }) => bytesRead,
      ),
    ).toEqual([]);
    expect(
      failing(
        ({ kept }) => kept > 201_000,
        ({ kept }) => kept,
      ),
    ).toEqual([]);
    expect(
      failing(
        ({ said }) => said.length > 45_000,
        ({ said }) => said.length,
      ),
    ).toEqual([]);
    const late = ({ index, ms }: Report) => ms > (hostileCases[index]?.timeoutMs ?? 20_000) + 3_000;
    expect(failing(late, ({ ms }) => ms)).toEqual([]);
    expect(cpuMs).toBeLessThan(60_000);
    expect(
      failing(
        ({ peak }) => peak > 400 * mega,
        ({ peak }) => peak,
      ),
    ).toEqual([]);
  });

  it("are read, or refused in one sentence that names the cause", () => {
    const sentence = /^The page was not read: ([^\n]{5,200})\.$/;
    const isWrong = ({ index, ok, said }: Report) => {
      const { refused, reads } = hostileCases[index] ?? {};
      if (ok) return refused !== undefined || !(reads ?? /notice/).test(said) || !said.isWellFormed();
      const [, cause] = sentence.exec(said) ?? [];
      return (
        cause === undefined ||
        reads !== undefined ||
        !(refused ?? /./).test(cause.replace(/\. A machine may be able to open it$/, ""))
      );
    };
    expect(failing(isWrong, ({ said }) => said.slice(0, 300))).toEqual([]);
  });
});
