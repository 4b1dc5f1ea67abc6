import { beforeAll, describe, expect, it } from "vitest";
import { createLastActive } from "../../../shared/channels/last-active.ts";
import type { InboxEntry, Origin, Task } from "../../../shared/session/inbox-entry.ts";
import { invoke, now, on, probe, say, useApprovalBench } from "./approval-bench.ts";

useApprovalBench();

const at = (kind: "dm" | "group", id: string) =>
  ({ kind: "channel", channel: "telegram", accountId: "a", peer: { kind, id } }) satisfies Origin;
const job: Task = { kind: "cron", jobId: "j", at: 1, queuedAt: 1, summary: "" };
const beat: Task = { kind: "heartbeat", agentId: "main" };

beforeAll(async () => {
  const { configuration } = on.bench;
  on.bench.configuration = { ...configuration, channels: { telegram: { owners: ["1"] } } as never };
  const heard = createLastActive(on.state.table, now);
  await heard({ ...at("dm", "1"), agentId: "main", senderId: "1", role: "owner" });
});

/** Where the requests of a run are sent. */
async function askedIn(more: Partial<Extract<InboxEntry, { kind: "message" }>>): Promise<string[]> {
  on.replies = [{ toolCalls: [probe] }];
  await say("go", more);
  await invoke();
  return on.sent.map(({ to }) => `${to.peer.kind} ${to.peer.id}`);
}

describe("a request is sent", () => {
  it("to the owner, not to the receiver of a job's answer", async () => {
    expect(await askedIn({ task: job, origin: at("dm", "2") })).toEqual(["dm 1"]);
    expect(on.sent[0]?.text).toContain(on.sessionKey);
  });

  it.each([
    ["a job without a receiver", { task: job }],
    ["a heartbeat", { task: beat }],
    ["a group", { origin: at("group", "3"), senderId: "1" }],
  ])("to the owner, for the run of %s", async (_, more) => {
    expect(await askedIn(more)).toEqual(["dm 1"]);
  });

  it("to the conversation of an owner's own message", async () => {
    expect(await askedIn({ origin: at("dm", "1"), senderId: "1" })).toEqual(["dm 1"]);
    expect(on.sent[0]?.text).not.toContain(on.sessionKey);
  });

  it("to nobody on a channel, if the owner wrote from a client or is no owner any more", async () => {
    expect(await askedIn({})).toEqual([]);
    expect(await askedIn({ origin: at("dm", "2"), senderId: "2" })).toEqual([]);
  });
});
