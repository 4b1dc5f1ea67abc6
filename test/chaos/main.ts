import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { bundleFunction, bundleTarget } from "../../infra/bundle.ts";
import { functionNames } from "../../infra/permissions.ts";
import { affordableSpeed } from "./affordable-speed.ts";
import { installClock } from "./faults/clock.mjs";
import { type ChaosOptions, readOptions, UsageError, usage } from "./options.ts";
import { report } from "./verdict/report.ts";

const startedAt = Date.now();

function say(line: string): void {
  process.stderr.write(`[${Math.round(performance.now() / 1000)} s] ${line}\n`);
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const bundles = await mkdtemp(join(tmpdir(), "gsv-chaos-bundles-"));
  try {
    await build(bundles);
    const speed = options.speed ?? (await affordableSpeed(join(bundles, "agent", "handler.mjs")));
    say(`the clocks of this run go ${speed} times as fast as real time`);
    const clock = { speed, base: startedAt };
    installClock(clock);
    const deadline = Date.now() + options.minutes * 60_000 * speed;
    process.exitCode = await run(options, {
      seed: options.seed,
      clock,
      bundles,
      deadline,
      keep: options.keep,
      say,
    });
  } finally {
    await rm(bundles, { recursive: true, force: true });
  }
}

/** Imports the modules only now, after the clock was replaced. */
async function run(options: ChaosOptions, setting: Parameters<typeof report>[1]): Promise<number> {
  const { enumerate, every, kills } = options;
  if (enumerate) {
    const { runEnumeration } = await import("./enumerate.ts");
    return report(options, setting, await runEnumeration(setting, every));
  }
  const { runLoad } = await import("./load/load.ts");
  return report(options, setting, await runLoad(setting, kills));
}

async function build(folder: string): Promise<void> {
  const root = resolve(import.meta.dirname, "../..");
  const make = (name: (typeof functionNames)[number]) =>
    bundleFunction({
      entry: bundleTarget(root, name).entry,
      outDir: join(folder, name),
      metaFile: join(folder, "meta", `${name}.json`),
    });
  await Promise.all(functionNames.map(make));
}

await main().catch((error: Error) => {
  process.stderr.write(error instanceof UsageError ? `${error.message}\n\n${usage}\n` : `${error.message}\n`);
  process.exitCode = 2;
});
