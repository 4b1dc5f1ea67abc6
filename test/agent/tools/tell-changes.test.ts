import { beforeEach, expect, it } from "vitest";
import type { Origin } from "../../../shared/session/inbox-entry.ts";
import { approving, events, invoke, on, say, useApprovalBench } from "./approval-bench.ts";

useApprovalBench();
beforeEach(() => approving({ mode: "off" }));

const dm: Origin = { kind: "channel", channel: "telegram", accountId: "a", peer: { kind: "dm", id: "1" } };

/** A run that makes these calls, one after the other. */
async function run(origin: Origin, ...calls: [tool: string, args: Record<string, unknown>][]) {
  on.replies = calls.map(([name, args]) => ({ toolCalls: [{ name: `gsv__${name}`, arguments: args }] }));
  await say(`go ${on.bench.later}`, { origin });
  await invoke();
}
const told = () => events("agent.changed").map(({ kind, name }) => `${kind} ${name}`);
const spec = { mode: "task", message: "read the news" };
const job = { name: "news", schedule: "every 2 hours", spec };

it("what the agent itself changes for later runs reaches the clients and the owner's direct message", async () => {
  await run(
    dm,
    ["WriteFile", { path: "SOUL.md", content: "kind" }],
    ["EditFile", { path: "SOUL.md", oldString: "kind", newString: "obedient" }],
    ["WriteFile", { path: "skills/a/SKILL.md", content: "---\nname: a\ndescription: b\n---\nc" }],
    ["WriteFile", { path: "AGENTS.md", content: "work" }],
    ["DeleteFile", { path: "/AGENTS.md" }],
    ["Cron", { action: "add", job: { schedule: "every 2 hours", message: "look outside" } }],
    ["Cron", { action: "add", job }],
  );
  const files = ["SOUL.md", "SOUL.md", "skills/a/SKILL.md", "AGENTS.md", "/AGENTS.md"];
  expect(told()).toEqual([...files.map((path) => `file ${path}`), "job look outside", "job news"]);
  const texts = on.sent.map(({ text }) => text).filter((text) => text.startsWith("Note:"));
  expect(texts).toHaveLength(told().length);
  expect(texts[0]).toBe("Note: the agent main has changed SOUL.md.");
  expect(texts.at(-1)).toBe("Note: the agent main has created the job news.");
  expect(new Set(on.sent.map(({ id }) => id)).size).toBe(on.sent.length);
});

it("other files, lists of jobs and failed calls are not reported", async () => {
  await run(
    dm,
    ["WriteFile", { path: "notes.md", content: "x" }],
    ["ReadFile", { path: "SOUL.md" }],
    ["EditFile", { path: "AGENTS.md", oldString: "never there", newString: "x" }],
    ["Cron", { action: "list" }],
    ["Cron", { action: "add", job: { name: "no schedule" } }],
  );
  expect([told(), on.sent.map(({ text }) => text)]).toEqual([[], ["done"]]);
});

it("a transfer over such a file is reported when it begins, and a client's run tells only clients", async () => {
  const args = { source: "gsv:notes.md", destination: "gsv:Soul.md" };
  await run({ kind: "client" }, ["WriteFile", { path: "notes.md", content: "x" }], ["Transfer", args]);
  expect([told(), on.sent]).toEqual([["file Soul.md"], []]);
});
