import { expect, it } from "vitest";
import { nodeTools } from "../../../cli/node/tools/offered.ts";
import { holdSession } from "../../../functions/agent/session-loop.ts";
import { writeTemplates } from "../../../functions/socket/templates.ts";
import { bindPeer, openConnection } from "../../../shared/peers/registry.ts";
import { startOpenAiServer } from "../../support/models/openai-server.ts";
import { startState } from "../../support/state.ts";
import { openBench } from "../bench.ts";

/** Bytes of the first request of a fresh agent's main session with one node: tools, texts, and a message. */
const maxBytes = 16_000;

it("the first request of a new main session with one node is at most 16 KB", async () => {
  const model = await startOpenAiServer(() => ({ text: "Fine." }));
  const state = await startState();
  const bench = openBench(state, { provider: "openai-compatible", id: "m", baseUrl: model.url });
  await writeTemplates(state.bucket, "main");
  const now = Date.now();
  const record = { connectionId: "laptop-1", openedAt: now, frames: 0 };
  const tools = nodeTools.map(({ definition }) => definition);
  await openConnection(state.table, record);
  await bindPeer(state.table, record, {
    ...{
      id: "laptop",
      mode: "node",
      connectionId: "laptop-1",
      tokenId: "t",
      version: "1",
      platform: "linux",
    },
    ...{ connectedAt: now, tools },
  });
  const origin = { kind: "client" } as const;
  await bench.submit("agent:main:main", { kind: "message", id: "e", at: now, text: "hello", origin });
  await holdSession(bench.agent(), "agent:main:main", () => 900_000);
  const [request] = model.requests;
  expect(request?.tools).toHaveLength(26);
  expect(JSON.stringify(request?.body)).toContain("COMMISSIONING CEREMONY");
  expect(Buffer.byteLength(JSON.stringify(request?.body))).toBeLessThanOrEqual(maxBytes);
  await model.close();
  await state.close();
});
