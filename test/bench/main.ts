import { cpus, totalmem } from "node:os";
import { countAwsCalls } from "./deployed/aws-calls.ts";
import { buildBundles, measureBundles } from "./deployed/bundles.ts";
import { measureTurns, profileTurns, soak, startModel } from "./measure.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { cleanUpAtExit } from "./processes/children.ts";
import { checkFsync } from "./processes/gateway-process.ts";
import { type Machine, table } from "./report.ts";

const say = (text: string) => process.stderr.write(`${text}\n`);

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options.help) return console.log(usage);
  cleanUpAtExit();
  if (options.fsync) checkFsync(options.gateway);
  const result = { machine: machine(), ...(await measure(options)) };
  console.log(options.json ? JSON.stringify(result) : table(result));
}

async function measure(options: Options): Promise<object> {
  const model = await startModel();
  if (options.soak !== undefined) return soak(options, options.soak, model, say);
  say("bundles …");
  const built = await buildBundles();
  const bundles = measureBundles(built);
  const timed = await measureTurns(options, model, built.folder, say);
  const shares = options.profile ? await profileTurns(options, model) : {};
  say("AWS calls …");
  const counted = await countAwsCalls(built.folder, model);
  return { aws_latency: options.awsLatency, fsync: options.fsync, ...timed, ...counted, ...shares, bundles };
}

function machine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? "an unknown processor",
    cores: cpus().length,
    memory_gb: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  };
}

try {
  await main();
  process.exit(0);
} catch (error) {
  say(`bench: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}
