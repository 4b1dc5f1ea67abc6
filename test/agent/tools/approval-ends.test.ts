import { describe, expect, it } from "vitest";
import type { Origin } from "../../../shared/session/inbox-entry.ts";
import {
  events,
  invoke,
  on,
  openHere,
  probe,
  results,
  runOf,
  say,
  useApprovalBench,
} from "./approval-bench.ts";

useApprovalBench();

const dm: Origin = { kind: "channel", channel: "telegram", accountId: "a", peer: { kind: "dm", id: "1" } };

describe("a later message of the owner", () => {
  it("keeps the run that goes on before it from asking", async () => {
    on.replies = [
      { toolCalls: [probe] },
      { toolCalls: [probe] },
      { toolCalls: [probe] },
      { text: "finished" },
    ];
    await say("go");
    await say("something else");
    await invoke();
    expect(events("approval.requested")).toEqual([]);
    const live = await on.bench.live(on.sessionKey);
    expect(results(live)).toEqual(
      Array(3).fill(expect.stringContaining("not asked: your human has written")),
    );
    expect([on.replies, await runOf(), await openHere()]).toEqual([[], undefined, []]);
  });

  it("sets a request aside once, and the direct message says so", async () => {
    on.replies = [{ toolCalls: [probe] }];
    await say("go", { origin: dm });
    await invoke();
    on.replies = [{ toolCalls: [probe] }, { text: "finished" }];
    await say("something else");
    await invoke();
    expect(events("approval.resolved")).toMatchObject([{ state: "withdrawn" }]);
    expect(events("approval.requested")).toHaveLength(1);
    expect(on.sent.map(({ text }) => text)).toEqual([
      expect.stringContaining("May I use pi__probe?"),
      expect.stringContaining("Set aside: pi__probe"),
      "finished",
    ]);
  });
});
