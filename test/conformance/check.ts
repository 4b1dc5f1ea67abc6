import { explore } from "./explore.ts";
import { scenario } from "./scenarios.ts";
import { mutations } from "./mutations.ts";
import { agent, sender } from "./programs.ts";

const list = [
  scenario("one message", {}),
  scenario("one tool", { senders: [sender("tool1")] }),
  scenario("one message, crash", {}, {crashes: 1}),
  scenario("one message, crash 2", {}, {crashes: 2}),
  scenario("one tool, crash", { senders: [sender("tool1")] }, {crashes: 1}),
  scenario("one message, pause", {extraAgents:[agent()]}, {pauses: 1}),
  scenario("one message, pause, renew", {extraAgents:[agent()], renewals:1}, {pauses: 1}),
  scenario("one tool, repeat", { senders: [sender("tool1")] }, {repeats: 1}),
  scenario("one tool, dup", { senders: [sender("tool1")] }, {duplicates: 1}),
  scenario("one tool, sweep", { senders: [sender("tool1")] }, {sweeps: 1}),
  scenario("stop m", { senders: [sender("m1"), sender("/stop")], agent: agent(undefined, true), renewals: 1 }, {}),
  scenario("stop tool", { senders: [sender("tool1"), sender("/stop")], agent: agent(undefined, true), renewals: 1 }, {}),
  scenario("handover", { senders: [sender("m1"),sender("m2")], extraAgents: [agent(1)] }, {}),
  scenario("one tool, pause", {senders: [sender("tool1")]}, {pauses: 1}),
  scenario("two senders", { senders: [sender("m1", "m2"), sender("m1")] }),
];
const only = process.argv[2];
async function run(one: ReturnType<typeof scenario>) {
  const start = Date.now();
  const found = await explore(one, 3_000_000);
  const { violations, ...rest } = found;
  console.log(JSON.stringify({ ...rest, violations: violations.length, seconds: (Date.now() - start) / 1000, mb: Math.round(process.memoryUsage().rss / 1e6) }));
  for (const violation of violations) console.log(violation.faults, `\n  ${violation.schedule.join("\n  ")}`);
}
for (const one of list) {
  if (only && !one.name.includes(only)) continue;
  await run(one);
}
if (process.argv[3]) for (const [name, mutate] of Object.entries(mutations)) {
console.log("#####", name);
await run(scenario("mutated", { senders: [sender("tool1", "m2"), sender("tool1")], mutate }, name.includes("epoch") ||name.includes("renew") ? {pauses:1} : {}));
}
