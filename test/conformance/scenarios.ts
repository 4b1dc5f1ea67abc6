import { agent, answer, sender } from "./model/programs.ts";
import { type Scenario, scenario } from "./scenario.ts";

/** Two senders, three messages: the second sender repeats the first message. A message "tool…" calls the tool. */
const withTool = [sender("tool1", "m2"), sender("tool1")];
const plain = [sender("m1", "m2"), sender("m1")];
const oneTool = [sender("tool1")];
const largeResult = [sender("tool-large")];
const one = [sender("m1")];

const fresh = { agent: agent() };
/** In an existing session, sending is one write. */
const used = { ...fresh, before: sender("m0") };
/** A conversation that a compaction shortens to one message. */
const long = { ...fresh, before: sender("m0", "a longer message") };
/** An agent whose model is slow, so a stop can come meanwhile. */
const thinking = { agent: agent({ isSlow: true }), before: sender("m0") };
const extra = agent();

const asks = [sender("ask1"), answer("allow"), answer("deny", "b")];
/** Two answers to one request, and one to the other. */
const asksTwice = [
  sender("twice1"),
  answer("allow", "a", 0),
  answer("deny", "b", 0),
  answer("allow", "c", 1),
];

/** Explored completely in every test run. */
export const quickScenarios: readonly Scenario[] = [
  scenario("a new session, three extra agents", {
    ...fresh,
    senders: plain,
    extraAgents: [extra, extra, extra],
  }),
  scenario("a tool, then a message", { ...used, senders: [sender("tool1", "m2")] }),
  scenario("a tool, sent twice", { ...used, senders: [...oneTool, ...oneTool] }),
  scenario("a tool, an extra agent", { ...used, senders: oneTool, extraAgents: [extra] }),
  scenario("renewals, a tool", { ...used, senders: oneTool, renewals: 1 }),
  scenario("a crash, a new session", { ...fresh, senders: plain, extraAgents: [extra] }, { crashes: 1 }),
  scenario(
    "a crash, a tool, an extra agent",
    { ...used, senders: oneTool, extraAgents: [extra] },
    { crashes: 1 },
  ),
  scenario("a crash, a large result", { ...used, senders: largeResult }, { crashes: 1 }),
  scenario("a failing call, a tool", { ...used, senders: oneTool }, { failures: 1 }),
  scenario("two failing calls", { ...used, senders: [sender("m1", "m2")] }, { failures: 2 }),
  scenario("a pause, two senders", { ...used, senders: [...one, sender("m2")] }, { pauses: 1 }),
  scenario("a pause, renewals", { ...used, senders: one, renewals: 1 }, { pauses: 1 }),
  scenario("a pause, a tool", { ...used, senders: oneTool }, { pauses: 1 }),
  scenario("a repeated write, a new session", { ...fresh, senders: plain }, { repeats: 1 }),
  scenario("a repeated write, a tool", { ...used, senders: oneTool }, { repeats: 1 }),
  scenario("two repeated deliveries, a tool", { ...used, senders: oneTool }, { duplicates: 2 }),
  scenario("a sweep at any time, a tool", { ...used, senders: oneTool }, { sweeps: 1 }),
  scenario("a stop, renewals", { ...thinking, senders: [...one, sender("/stop")], renewals: 1 }),
  scenario("a stop, a tool", { ...thinking, senders: [...oneTool, sender("/stop")] }),
  scenario(
    "a stop, a repeated write",
    { ...used, senders: [sender("m1", "m2"), sender("/stop")] },
    { repeats: 1 },
  ),
  scenario("a reset", { ...used, senders: [sender("m1", "/reset", "m2")] }),
  scenario("a reset, another sender", { ...used, senders: [sender("/reset"), sender("m1")] }),
  scenario("two resets, sent twice", {
    ...used,
    senders: [sender("/reset", "/new"), sender("/reset")],
  }),
  scenario("a reset, a repeated write", { ...used, senders: [sender("/reset", "m1")] }, { repeats: 1 }),
  scenario("a reset, a crash", { ...used, senders: [sender("/reset", "m1")] }, { crashes: 1 }),
  scenario("a compaction", { ...long, senders: [sender("/compact 1", "m1")] }),
  scenario("a compaction, a repeated write", { ...long, senders: [sender("/compact 1")] }, { repeats: 1 }),
  scenario("a compaction, a crash", { ...long, senders: [sender("/compact 1")] }, { crashes: 1 }),
  scenario("a request, two answers", { ...used, senders: asks }),
  scenario("a request, a crash", { ...used, senders: [sender("ask1"), answer("allow")] }, { crashes: 1 }),
  scenario("a request, a stop", { ...thinking, senders: [sender("ask1"), answer("allow"), sender("/stop")] }),
  scenario("a request, a message", { ...used, senders: [sender("ask1", "m2"), answer("allow")] }),
  scenario(
    "a request, a repeated write",
    { ...used, senders: [sender("ask1"), answer("allow")] },
    { repeats: 1 },
  ),
  scenario("a node that is gone", { ...used, agent: agent({ isNodeGone: true }), senders: withTool }),
  scenario("agents with little time", {
    ...used,
    senders: plain,
    extraAgents: [agent({ steps: 0 }), agent({ steps: 1 })],
  }),
  scenario("an agent with little time, a tool", {
    ...used,
    senders: oneTool,
    extraAgents: [agent({ steps: 1 })],
  }),
];

/** Scenarios that need some minutes. */
export const deepScenarios: readonly Scenario[] = [
  ...quickScenarios,
  scenario("two requests, an answer", { ...used, senders: [sender("twice1"), answer("allow")] }),
  scenario(
    "two requests, an answer, two crashes",
    { ...used, senders: [sender("twice1"), answer("allow")] },
    { crashes: 2 },
  ),
  scenario("two requests, three answers", { ...used, senders: asksTwice }),
  scenario(
    "two requests, three answers, a stop, two crashes",
    { ...used, senders: [...asksTwice, sender("/stop")] },
    { crashes: 2 },
  ),
  scenario("a request, two crashes", { ...used, senders: asks }, { crashes: 2 }),
  scenario("a request, a pause", { ...used, senders: asks }, { pauses: 1 }),
  scenario("a request, a stop, a crash", { ...used, senders: [...asks, sender("/stop")] }, { crashes: 1 }),
  scenario("a reset, a failing call", { ...used, senders: [sender("/reset", "m1")] }, { failures: 1 }),
  scenario(
    "a reset, a pause",
    { ...used, senders: [sender("/reset")], extraAgents: [extra, extra] },
    { pauses: 1 },
  ),
  scenario("a compaction, a pause", { ...long, senders: [sender("/compact 1")] }, { pauses: 1 }),
  scenario(
    "a compaction and a reset",
    { ...long, senders: [sender("/compact 1", "/reset")] },
    { crashes: 1 },
  ),
  scenario("two pauses, a crash", { ...used, senders: one, extraAgents: [extra] }, { pauses: 2, crashes: 1 }),
  scenario("two crashes, a tool", { ...used, senders: oneTool }, { crashes: 2 }),
  scenario(
    "a stop, a repeated write, a slow model",
    { ...thinking, senders: [...one, sender("/stop"), sender("m2")] },
    { repeats: 1 },
  ),
  scenario("a reset, a tool", { ...used, senders: [sender("tool1", "/reset")] }),
  scenario("a reset, two crashes", { ...used, senders: [sender("/reset", "m1")] }, { crashes: 2 }),
  scenario("a compaction, two crashes", { ...long, senders: [sender("/compact 1", "m1")] }, { crashes: 2 }),
  scenario("a reset, a pause, a message", { ...used, senders: [sender("m1", "/reset")] }, { pauses: 1 }),
  scenario("a reset, a pause, two senders", { ...used, senders: [...one, sender("/reset")] }, { pauses: 1 }),
  scenario("a compaction, another sender", { ...long, senders: [sender("/compact 1"), sender("m1")] }),
  scenario("a compaction, a failing call", { ...long, senders: [sender("/compact 1")] }, { failures: 1 }),
  scenario("all: a tool", { ...used, senders: withTool }),
  scenario("two failing calls, two senders", { ...used, senders: plain }, { failures: 2 }),
  scenario("a pause, three messages", { ...used, senders: plain }, { pauses: 1 }),
  scenario(
    "a pause, renewals, an extra agent",
    { ...used, senders: one, extraAgents: [extra], renewals: 1 },
    { pauses: 1 },
  ),
  scenario("all: three extra agents", { ...used, senders: withTool, extraAgents: [extra, extra, extra] }),
  scenario("all: a crash", { ...used, senders: withTool, extraAgents: [extra] }, { crashes: 1 }),
  scenario("a pause, a tool, two messages", { ...used, senders: [sender("tool1", "m2")] }, { pauses: 1 }),
  scenario("all: a failing call", { ...used, senders: withTool }, { failures: 1 }),
  scenario("all: a repeated write", { ...used, senders: withTool }, { repeats: 1 }),
  scenario("two failing calls, a large result", { ...used, senders: largeResult }, { failures: 2 }),
  scenario("a pause and a crash, a tool", { ...used, senders: oneTool }, { pauses: 1, crashes: 1 }),
  scenario(
    "a pause and a crash, two messages",
    { ...used, senders: plain, extraAgents: [extra] },
    { pauses: 1, crashes: 1 },
  ),
  scenario("two crashes, two senders", { ...used, senders: withTool }, { crashes: 2 }),
  scenario(
    "a stop, a crash, a tool",
    { ...thinking, senders: [...oneTool, sender("/stop")] },
    { crashes: 1 },
  ),
  scenario(
    "a stop, a pause",
    { ...thinking, senders: [...one, sender("/stop")], renewals: 1 },
    { pauses: 1 },
  ),
];
