import { expect, it } from "vitest";
import { maintaining, payingFor } from "../../functions/agent/payer.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import type { Run } from "../../shared/session/run.ts";

const configuration = {
  ...defaults,
  channels: { telegram: { ...defaults.channels.telegram, owners: ["7"] } },
} as typeof defaults;

const from = (kind: string, id: string) =>
  ({ kind: "channel", channel: "telegram", accountId: "default", peer: { kind, id } }) as const;
const run = (fields: object): Run => ({ runId: "r", origin: { kind: "client" }, ...fields }) as Run;
const cron = { kind: "cron", jobId: "j" } as const;

it.each([
  ["a client's message", "agent:main:main", run({}), false],
  ["an owner's direct message", "agent:main:main", run({ origin: from("dm", "chat-9") }), false],
  ["a guest in any session", "agent:main:main", run({ role: "guest" }), true],
  ["an owner in a group", "agent:main:telegram:group:-1", run({ origin: from("group", "-1") }), true],
  [
    "a room that is mapped to the main session",
    "agent:main:main",
    run({ origin: from("group", "-1") }),
    true,
  ],
  ["a job without a target", "agent:main:cron:j", run({ task: cron }), false],
  ["a job for a group", "agent:main:cron:j", run({ task: cron, origin: from("group", "-1") }), true],
  ["a job for somebody else", "agent:main:cron:j", run({ task: cron, origin: from("dm", "8") }), true],
  ["a job for an owner", "agent:main:cron:j", run({ task: cron, origin: from("dm", "7") }), false],
  [
    "a heartbeat for a group",
    "agent:main:heartbeat:system:internal",
    run({ task: { kind: "heartbeat", agentId: "main", to: from("group", "-1") } }),
    true,
  ],
])("a refusal of %s has figures only if no one but an owner reads it", (_, sessionKey, run, isPublic) => {
  expect(payingFor(configuration, run, sessionKey).isPublic).toBe(isPublic);
  expect(maintaining(configuration, sessionKey, run).isPublic).toBe(isPublic);
});

it("a compaction on request has figures in an owner's session, and none in a group or with a guest", () => {
  const isPublic = (sessionKey: string) => maintaining(configuration, sessionKey).isPublic;
  expect(isPublic("agent:main:main")).toBe(false);
  expect(isPublic("agent:main:telegram:group:-1")).toBe(true);
  expect(isPublic("agent:main:telegram:default:guest:8")).toBe(true);
});
