import { expect, it } from "vitest";
import { settleHeartbeat } from "../../functions/agent/reply/heartbeat-answer.ts";
import { createLastActive, findOwner } from "../../shared/channels/last-active.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import { startState } from "../support/state.ts";

const now = Date.parse("2026-03-02T09:00:00Z");

/** An agent whose owner olga is removed when a write begins. */
async function settle(isRemovedAt: (pk: string) => boolean): Promise<{ sent: string[]; texts: number }> {
  const { table, items } = await startState();
  let owners = ["olga"];
  const load = async () => ({ ...defaults, channels: { slack: { owners } } });
  const at = { channel: "slack", accountId: "default", peer: { kind: "dm", id: "D1" } } as const;
  await createLastActive(table, () => now)({ ...at, agentId: "main", senderId: "olga", role: "owner" });
  const to = await findOwner(table, await load(), "main");
  const sent: string[] = [];
  const agent = {
    now: () => now,
    configuration: { load },
    channels: { deliver: async ({ peer }: typeof at) => ({ ok: sent.push(peer.id) > 0 }) },
    table: {
      ...table,
      async put(...call: Parameters<typeof table.put>) {
        if (isRemovedAt(call[0].pk)) owners = [];
        return table.put(...call);
      },
    },
  };
  await settleHeartbeat(
    agent as never,
    "agent:main:main",
    { kind: "heartbeat", agentId: "main", to } as never,
    "beat-1",
    {
      answer: "The build fails.",
    },
  );
  return { sent, texts: items().filter(({ pk }) => pk === "BEAT#main").length };
}

it("a beat reaches an owner, and none who is removed while it is prepared; its text can be sent again", async () => {
  expect(await settle(() => false)).toEqual({ sent: ["D1"], texts: 1 });
  expect(await settle((pk) => pk === "BEAT#main")).toEqual({ sent: [], texts: 0 });
});
