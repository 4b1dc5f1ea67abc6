import { explore } from "./explore.ts";
import { mutations } from "./mutations.ts";
import { agent, sender } from "./programs.ts";
import { scenario } from "./scenario.ts";

const both = [sender("tool1", "m2"), sender("tool1")];
const list = [
  scenario("L none 0", { agent: agent(), before: sender("m0"), senders: both }),
  scenario("L none 1", { agent: agent(), before: sender("m0"), senders: both, extraAgents: [agent()] }),
  scenario("L none 3", { agent: agent(), before: sender("m0"), senders: both, extraAgents: [agent(), agent(), agent()] }),
  scenario("L crash 0", { agent: agent(), before: sender("m0"), senders: both }, { crashes: 1 }),
  scenario(
    "L crash m",
    { senders: [sender("m1", "m2"), sender("m1")], extraAgents: [agent(), agent(), agent()] },
    { crashes: 1 },
  ),
  scenario("L pause m", { agent: agent(), senders: [sender("m1", "m2"), sender("m1")], extraAgents: [] }, { pauses: 1 }),
  scenario("L pause 0", { agent: agent(), before: sender("m0"), senders: both, extraAgents: [] }, { pauses: 1 }),
  scenario("L repeat 0", { agent: agent(), before: sender("m0"), senders: both, extraAgents: [] }, { repeats: 1 }),
  scenario(
    "L crash pause 1",
    { senders: [sender("tool1")], extraAgents: [agent()] },
    { pauses: 1, crashes: 1 },
  ),
];
const only = process.argv[2];
async function run(one: ReturnType<typeof scenario>) {
  const start = Date.now();
  const found = await explore(one, 3_000_000);
  const { violations, ...rest } = found;
  console.log(
    JSON.stringify({
      ...rest,
      violations: violations.length,
      seconds: (Date.now() - start) / 1000,
      mb: Math.round(process.memoryUsage().rss / 1e6),
    }),
  );
  for (const violation of violations) console.log(violation.faults, `\n  ${violation.schedule.join("\n  ")}`);
}
for (const one of list) {
  if (only && !one.name.includes(only)) continue;
  await run(one);
}
if (process.argv[3])
  for (const [name, mutate] of Object.entries(mutations)) {
    console.log("#####", name);
    await run(
      scenario(
        "mutated",
        { senders: [sender("tool1", "m2"), sender("tool1")], mutate },
        name.includes("epoch") || name.includes("renew") ? { pauses: 1 } : {},
      ),
    );
  }
