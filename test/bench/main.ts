import { execFileSync } from "node:child_process";
import { cpus, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { measureBundles } from "./bundles.ts";
import { costOf1000Turns, idleCostPerMonth } from "./cost.ts";
import { byOperation, percentiles, round, sequentialCalls } from "./figures.ts";
import { profiled } from "./profile.ts";
import { type Marks, startSubject } from "./subject.ts";

const usage = `Measures turns over the in-process host with its local DynamoDB and S3, and an instant scripted model.

  npm run bench -- [--json] [--turns N] [--aws-latency] [--profile]

  --turns N       turns of each kind (default 200)
  --profile       adds where the CPU went in turns without a tool, in percent by part
  --aws-latency   adds the delays of the real services to each AWS call (test/bench/latency.ts)
  --json          one line of JSON on standard output`;

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    turns: { type: "string", default: "200" },
    "aws-latency": { type: "boolean", default: false },
    profile: { type: "boolean", default: false },
    part: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const say = (text: string) => process.stderr.write(`${text}\n`);

/** Times of turns one after the other and of many sessions at once. */
async function timing(turns: number, latency: number | undefined) {
  const subject = await startSubject({ latency });
  const many = async (kind: "plain" | "tool", count: number, name: string) => {
    const marks: Marks[] = [];
    for (let i = 0; i < count; i++) marks.push(await subject.turn(`${name}-${i % 10}`, kind));
    return marks;
  };
  const total = (marks: Marks[]) => percentiles(marks.map((mark) => mark.final - mark.sent));
  say("warming up …");
  await many("plain", 30, "warm");
  await many("tool", 30, "warm-tool");
  say(`${turns} turns without a tool …`);
  const plain = await many("plain", turns, "plain");
  say(`${turns} turns with a tool …`);
  const tool = await many("tool", turns, "tool");
  say("20 sessions at once …");
  const perSecond = async (kind: "plain" | "tool") => {
    const each = Math.ceil(turns / 10);
    const start = performance.now();
    const sessions = Array.from({ length: 20 }, async (_, session) => {
      for (let i = 0; i < each; i++) await subject.turn(`load-${kind}-${session}`, kind);
    });
    await Promise.all(sessions);
    return round((20 * each * 1000) / (performance.now() - start), 1);
  };
  const turns_per_s_20_sessions = await perSecond("plain");
  const tool_turns_per_s_20_sessions = await perSecond("tool");
  say("a growing history …");
  const history_growth: Record<string, number> = {};
  const growing: Marks[] = [];
  for (let i = 0; i < turns; i++) growing.push(await subject.turn("growing", "plain"));
  for (const share of [0.25, 0.5, 0.75, 1]) {
    const end = Math.floor(turns * share);
    const part = growing.slice(Math.floor(turns * (share - 0.25)), end);
    history_growth[`to_${end * 2}_messages_p50_ms`] = total(part).p50;
  }
  await subject.close();
  return {
    turn_ms: total(plain),
    tool_turn_ms: total(tool),
    send_to_model_ms: percentiles(plain.map((mark) => (mark.asked[0] ?? 0) - mark.sent)),
    result_to_model_ms: percentiles(tool.map((mark) => (mark.asked[1] ?? 0) - (mark.result ?? 0))),
    model_to_final_ms: percentiles(plain.map((mark) => mark.final - (mark.answered[0] ?? 0))),
    turns_per_s_20_sessions,
    tool_turns_per_s_20_sessions,
    history_growth,
  };
}

/** Where the CPU goes in turns without a tool: its thread runs functions, emulators, model server and client alike. */
async function profile(turns: number) {
  const subject = await startSubject();
  const some = async (count: number) => {
    for (let i = 0; i < count; i++) await subject.turn(`profile-${i % 10}`, "plain");
  };
  await some(50);
  const shares = await profiled(() => some(turns));
  await subject.close();
  return { profile_percent: shares };
}

/** The AWS calls of one warm turn of each kind, some seconds after the last one, as people talk. */
async function trace() {
  const subject = await startSubject({ latency: 1, toolMs: 100 });
  const settle = () => new Promise((resolve) => setTimeout(resolve, 400));
  const one = async (kind: "plain" | "tool") => {
    for (let i = 0; i < 5; i++) await subject.turn(`trace-${kind}`, kind);
    await new Promise((resolve) => setTimeout(resolve, 5500));
    for (const name of Object.keys(subject.durations)) delete subject.durations[name];
    subject.calls.length = 0;
    const mark = await subject.turn(`trace-${kind}`, kind);
    await settle();
    const calls = [...subject.calls];
    return {
      calls,
      mark,
      counted: {
        sequential_to_model: sequentialCalls(calls, mark.sent, mark.asked[0] ?? 0),
        ...(mark.result
          ? { sequential_result_to_model: sequentialCalls(calls, mark.result, mark.asked[1] ?? 0) }
          : {}),
        total: calls.length,
        by_operation: byOperation(calls),
      },
      ms: Object.fromEntries(
        Object.entries(subject.durations).map(([name, all]) => [name, Math.max(...all)]),
      ),
    };
  };
  const plain = await one("plain");
  const tool = await one("tool");
  const meta_bytes = await subject.metaBytes("agent:main:trace-plain");
  await subject.close();
  return {
    aws_calls: { turn: plain.counted, tool_turn: tool.counted },
    cost_per_1000_turns_usd: costOf1000Turns(plain.calls, plain.ms),
    idle_cost_per_month_usd: idleCostPerMonth(),
    meta_bytes,
  };
}

/** Each part in a process of its own: the SDK reads its endpoints from the environment of the process. */
function inProcess(part: string): object {
  const script = fileURLToPath(import.meta.url);
  const flags = [
    `--part=${part}`,
    `--turns=${options.turns}`,
    ...(options["aws-latency"] ? ["--aws-latency"] : []),
  ];
  const output = execFileSync(process.execPath, ["--import", "tsx", script, ...flags], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  return JSON.parse(output);
}

async function main(): Promise<void> {
  if (options.help) return console.log(usage);
  const turns = Number(options.turns);
  if (!Number.isInteger(turns) || turns < 20) throw new Error("--turns: expected a whole number from 20");
  if (options.part === "timing")
    return console.log(JSON.stringify(await timing(turns, options["aws-latency"] ? 1 : undefined)));
  if (options.part === "trace") return console.log(JSON.stringify(await trace()));
  if (options.part === "profile") return console.log(JSON.stringify(await profile(turns)));
  say("bundles …");
  const bundles = await measureBundles();
  const timed = inProcess("timing");
  say("AWS calls …");
  const machine = {
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    memory_gb: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  };
  const result = {
    machine,
    aws_latency: options["aws-latency"],
    ...timed,
    ...inProcess("trace"),
    ...(options.profile ? inProcess("profile") : {}),
    bundles,
  };
  console.log(JSON.stringify(result, null, options.json ? undefined : 2));
}

try {
  await main();
  process.exit(0);
} catch (error) {
  say(`bench: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}
