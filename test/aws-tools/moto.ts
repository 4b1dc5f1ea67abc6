import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { listen } from "../../local/http/http-endpoint.ts";
import { endProcess, type Found, missing, runCommand } from "./python.ts";

/** Cases of the contracts that moto 5.2 fails (docs/reference/contracts.md): it accepts what AWS refuses, or has a fault. */
export const motoDiffers: ReadonlySet<string> = new Set([
  "the bucket > keeps the conditions of a stream of 9437184 bytes",
  "the bucket within S3's limits > refuses a key above 1,024 bytes",
  "the bucket within S3's limits > refuses metadata above 2 KB",
  "the secrets > refuse a secret above the 4 KB of a standard parameter",
  "the table > items > need a key of at most 2048 and 1024 bytes",
  "the table > items > have lists and maps in each other up to 32 levels deep",
  "the table > items > are refused above 400 KB, in UTF-8 bytes",
  "the table > an update > is refused below a map that is not there, and changes nothing",
  "the table > an update > is refused where two steps touch the same place",
  "the table > a condition > does not hold, and nothing is written: another type",
  "the table > a condition > lets exactly one of many concurrent writes through",
  "the table > a query > is refused when it ends before it begins",
  "the table > an index > refuses to put an attribute that it cannot order by",
  "the table > an index > refuses to update an attribute to what it cannot order by",
]);

const startPatienceMs = 60_000;

/** Runs the contracts of table, bucket and secrets against moto's server. */
export async function checkAgainstMoto(python: string): Promise<Found> {
  const check = "contracts against moto";
  const skipped = await missing(python, "moto.server", { name: "moto", install: "'moto[server]'" });
  if (skipped) return { check, passed: 0, faults: [], skipped };
  const port = await freePort();
  const server = spawn(python, ["-m", "moto.server", "-H", "127.0.0.1", "-p", String(port)], {
    stdio: "ignore",
  });
  try {
    const url = `http://127.0.0.1:${port}`;
    await untilItAnswers(url);
    const contracts = ["test/world/endpoint/contracts.mjs", "--endpoint", url, "--json"];
    const { stdout, stderr } = await runCommand(process.execPath, contracts);
    return { check, ...judge(stdout, stderr) };
  } finally {
    await endProcess(server);
  }
}

interface Report {
  passed: number;
  failed: { name: string; message: string }[];
}

/** Splits the failures of a run of the contracts into faults and known differences. */
export function judge(stdout: string, stderr: string): Omit<Found, "check"> {
  const line = stdout.split("\n").find((one) => one.startsWith('{"endpoint"'));
  if (line === undefined)
    return { passed: 0, faults: [`the contracts did not run: ${stderr.trim().slice(0, 500)}`] };
  const { passed, failed } = JSON.parse(line) as Report;
  const faults = failed.filter(({ name }) => !motoDiffers.has(name));
  return {
    passed,
    known: failed.length - faults.length,
    faults: faults.map(({ name, message }) => `${name}: ${message}`),
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server, 0);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function untilItAnswers(url: string): Promise<void> {
  const end = Date.now() + startPatienceMs;
  while (Date.now() < end) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer) return;
    await delay(200);
  }
  throw new Error(`moto's server did not answer at ${url} within a minute`);
}
