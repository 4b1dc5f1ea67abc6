import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fuzz } from "./fuzz.ts";
import { readOptions, UsageError, usage } from "./options.ts";
import { forkTarget } from "./target/target-process.ts";

async function main(): Promise<number> {
  const { json, ...options } = readOptions(process.argv.slice(2));
  const dir = await mkdtemp(join(tmpdir(), "gsv-fuzz-"));
  const startedAt = performance.now();
  const target = await forkTarget(join(dir, "data"));
  try {
    const report = await fuzz(target, options);
    const { heapMb, rssMb } = await target.vitals();
    const { frames, deliveries, answers, slowestMs, violationCounts, violations } = report;
    const ms = Math.round(performance.now() - startedAt);
    const counts = { frames: total(frames), deliveries: total(deliveries) };
    const figures = { ...counts, seed: options.seed, ms, slowestMs, heapMb, rssMb };
    const result = {
      ...figures,
      frameKinds: frames,
      deliveryKinds: deliveries,
      answers,
      violationCounts,
      violations,
    };
    process.stdout.write(`${JSON.stringify(result, null, json ? 0 : 2)}\n`);
    for (const violation of violations.filter((one) => one.case !== undefined))
      process.stderr.write(`again: npm run fuzz -- --seed ${options.seed} --only ${violation.case}\n`);
    return violations.length > 0 ? 1 : 0;
  } finally {
    await target.close();
    await rm(dir, { recursive: true, force: true });
  }
}

const total = (counts: Record<string, number>) =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

process.exitCode = await main().catch((error: Error) => {
  process.stderr.write(error instanceof UsageError ? `${error.message}\n\n${usage}\n` : `${error.stack}\n`);
  return 2;
});
