import { afterAll, describe, expect, it } from "vitest";
import type { TableCall } from "../../local/items/table-call.ts";
import { type Exploration, explore } from "./explore.ts";
import { Behaviour } from "./model/behaviour.ts";
import { agent, answer, sender } from "./model/programs.ts";
import { mutations } from "./mutations.ts";
import { type Scenario, scenario } from "./scenario.ts";
import { quickScenarios } from "./scenarios.ts";

/** Far above the time of one exploration, so a busy machine fails no test. */
const patience = 180_000;

/** The programs' behaviour, shared by all explorations. */
let behaviour = new Behaviour();

/** Explorations of unchanged scenarios, by their content without the name. */
const intact = new Map<string, Promise<Exploration>>();

/** Explores a scenario once for all tests that need it. */
function exploreIntact(one: Scenario): Promise<Exploration> {
  // A program's name identifies it.
  const contents = JSON.stringify({ ...one, name: "" });
  const known = intact.get(contents) ?? explore(one, { behaviour });
  intact.set(contents, known);
  return known;
}

// They are large, and a worker that runs other files later would retain them.
afterAll(() => {
  behaviour = new Behaviour();
  intact.clear();
});

const cold = { agent: agent() };
const used = { ...cold, before: sender("m0") };

describe("every interleaving of agents, senders, tool results and timeouts", () => {
  it.each(quickScenarios.map((one) => [one.name, one] as const))(
    "loses, duplicates and blocks nothing: %s",
    async (_, one) => {
      const { complete, violations, states, differences } = await exploreIntact(one);
      expect([violations, differences]).toEqual([[], undefined]);
      expect(complete).toBe(true);
      expect(states).toBeGreaterThan(100);
    },
    patience,
  );
});

describe("the check", () => {
  it.each([
    ["a tool", scenario("", { ...used, senders: [sender("tool1")] })],
    ["a crash", scenario("", { ...used, senders: [sender("m1", "m2"), sender("m1")] }, { crashes: 1 })],
    ["a pause", scenario("", { ...used, senders: [sender("m1", "m2")] }, { pauses: 1 })],
    ["a reset", scenario("", { ...used, senders: [sender("/reset")] }, { crashes: 1 })],
    ["a request", scenario("", { ...used, senders: [sender("ask1"), answer("allow")] }, { crashes: 1 })],
  ])(
    "skips only interleavings that do not change the final states: %s",
    async (_, one) => {
      const reduced = await exploreIntact(one);
      const whole = await explore({ ...one, unreduced: true }, { behaviour });
      expect(whole.states).toBeGreaterThan(reduced.states);
      expect([...reduced.ends].sort()).toEqual([...whole.ends].sort());
      expect(whole.violations).toEqual([]);
    },
    patience,
  );

  const two = { ...used, senders: [sender("m1", "m2")] };
  const tool = { ...used, senders: [sender("tool1")] };
  const stopped = { agent: agent({ isSlow: true }), before: sender("m0") };
  const paused = scenario("", two, { pauses: 1 });
  const twice = scenario("", { ...used, senders: [sender("m1"), sender("m1")] });
  const asked = scenario("", { ...used, senders: [sender("ask1"), answer("allow")] });
  const answered = scenario("", { ...used, senders: [sender("ask1"), answer("allow"), answer("deny", "b")] });
  const stoppedRequest = scenario("", {
    ...used,
    senders: [sender("ask1"), answer("allow"), sender("/stop")],
  });
  const reset = scenario("", { ...used, senders: [sender("/reset")] });
  const long = sender("m0", "a longer message");
  const compaction = scenario("", { ...cold, before: long, senders: [sender("/compact 1")] });
  const crashedCompaction = { ...compaction, mishaps: { ...compaction.mishaps, crashes: 1 } };
  const found: [keyof typeof mutations, Scenario, RegExp][] = [
    ["the epoch of a commit", paused, /wrote the session, but/],
    ["an empty inbox at the idle release", scenario("", two), /nothing will process 1 waiting/],
    [
      "a pending call at the waiting release",
      scenario("", tool),
      /nothing will process 0 waiting entries and the run tool1/,
    ],
    ["the ids accepted before", twice, /more than once/],
    ["the ids settled before", twice, /more than once/],
    [
      "no stop at the waiting release",
      scenario("", { ...stopped, senders: [sender("tool1"), sender("/stop")] }),
      /nothing will process 0 waiting entries and the run tool1/,
    ],
    ["the lease of another", scenario("", { ...two, extraAgents: [agent()] }), /unexpired lease/],
    ["a holder to renew", scenario("", { ...two, renewals: 1 }), /nothing will process 1 waiting/],
    ["the writer of a message", paused, /not committed by its writer/],
    [
      "the run that ends",
      scenario("", { ...used, senders: [sender("m1", "m2"), sender("/stop")] }, { repeats: 1 }),
      /a stop was erased/,
    ],
    ["the entry that is taken out", scenario("", two, { repeats: 1 }), /is lost/],
    ["the first answer to a request", answered, /the answer to \S+ was replaced/],
    ["no stop at an answer", stoppedRequest, /was answered after a stop/],
    ["the mark of an answer", asked, /a sweep would find something/],
    ["no answer at the waiting release", asked, /nothing will process 0 waiting entries and the run ask1/],
    ["the archive of a reset", reset, /committed message 1 was changed or lost/],
    ["the end of a reset", reset, /resetting was left/],
    ["the id of the next conversation", reset, /the head went back/],
    ["the messages that a compaction keeps", compaction, /committed message 4 was changed or lost/],
    ["the mark of what is to be deleted", crashedCompaction, /message \S+ was left/],
  ];

  it.each(found)(
    "finds a fault when a write lacks its condition: %s",
    async (name, one, fault) => {
      const mutate: (call: TableCall) => TableCall = mutations[name];
      const { violations } = await explore({ ...one, mutate }, { behaviour });
      expect(violations).toHaveLength(1);
      expect(violations[0]?.faults.join("; ")).toMatch(fault);
      expect(violations[0]?.schedule.length).toBeGreaterThan(2);
      expect((await exploreIntact(one)).violations).toEqual([]);
    },
    patience,
  );
});
