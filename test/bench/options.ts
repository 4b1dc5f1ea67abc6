import { parseArgs } from "node:util";

export const usage = `Measures turns of the gateway that \`npm start\` starts, beside a floor: a process that passes a message on and does
nothing else. Gateway, floor and model server are processes of their own; the model is scripted and answers at once.

  npm run bench -- [--json] [--turns N] [--fsync] [--profile] [--aws-latency] [--gateway COMMAND]
  npm run bench -- --soak N [--json] [--gateway COMMAND]

  --json             one line of JSON on standard output, times in ms, memory in MiB
  --turns N          turns of each kind (default 200)
  --fsync            passes --fsync on to the gateway
  --profile          adds where the gateway's CPU goes in turns without a tool, by part and by function
  --aws-latency      measures the deployed bundles over local AWS endpoints instead, with the delays of the real
                     services added to each call (test/bench/deployed/latency.ts)
  --gateway COMMAND  measures what this command starts, given --data DIR, instead of \`gsv dev\`; it must keep DIR's
                     gateway.json and end at the end of its input
  --soak N           N turns without a tool, and the gateway's memory after each hundred
  --help             this text`;

export interface Options {
  json: boolean;
  turns: number;
  fsync: boolean;
  profile: boolean;
  awsLatency: boolean;
  /** Undefined for the shipped gateway. */
  gateway?: string;
  /** Turns of the soak; undefined if there is none. */
  soak?: number;
  help: boolean;
}

/** @throws Error, one line, for invalid options */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      json: { type: "boolean", default: false },
      turns: { type: "string", default: "200" },
      fsync: { type: "boolean", default: false },
      profile: { type: "boolean", default: false },
      "aws-latency": { type: "boolean", default: false },
      gateway: { type: "string" },
      soak: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  return {
    json: values.json,
    turns: atLeast("--turns", 20, values.turns),
    fsync: values.fsync,
    profile: values.profile,
    awsLatency: values["aws-latency"],
    gateway: values.gateway,
    soak: values.soak === undefined ? undefined : atLeast("--soak", 100, values.soak),
    help: values.help,
  };
}

function atLeast(name: string, min: number, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < min)
    throw new Error(`${name}: expected a whole number of at least ${min}`);
  return value;
}
