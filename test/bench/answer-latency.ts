/**
 * Time from the owner's answer to the call's arrival at the node, in a local gateway: `npx tsx test/bench/answer-latency.ts 200`.
 * The client answers on one connection, the node listens on another.
 */
import type { Approval } from "../../shared/protocol/approvals.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import { openClient, openNode } from "../support/peer.ts";
import { now } from "./marks.ts";
import { cleanUpAtExit } from "./processes/children.ts";
import { startGateway } from "./processes/gateway-process.ts";

cleanUpAtExit();
const answers = Number(process.argv[2] ?? 100);
const call = { name: "laptop__Bash", arguments: { command: "rm -rf ~" } };
const model = await startOpenAiServer(async ({ turns }) =>
  turns.at(-1)?.role === "user" ? { toolCalls: [call] } : { text: "done" },
);
const gateway = await startGateway({ modelUrl: model.url });
const client = await openClient(gateway.url, gateway.token, "answers");
let arrived: (at: number) => void = () => {};
const node = await openNode(gateway.url, gateway.token, "laptop", {
  Bash: () => {
    arrived(now());
    return "done";
  },
});
const times: number[] = [];
for (let turn = 0; turn < answers; turn++) {
  await client.call("chat.send", { sessionKey: "bench", message: "go", runId: `answer-${turn}` });
  const ofTurn = (payload: unknown) => (payload as { runId?: string }).runId === `answer-${turn}`;
  const asked = (await client.event(
    (payload, name) => name === "approval.requested" && ofTurn(payload),
    "the agent asks",
  )) as unknown as Approval;
  const arrival = new Promise<number>((resolve) => {
    arrived = resolve;
  });
  const sent = now();
  await client.call("approval.answer", { id: asked.id, hash: asked.hash, decision: "allow" });
  times.push((await arrival) - sent);
  await client.event(
    (payload, name) =>
      name === "chat" && ofTurn(payload) && (payload as { state?: string }).state === "final",
    "the run ends",
  );
}
const sorted = times.slice(5).sort((a, b) => a - b);
const at = (share: number) => `${sorted[Math.floor(sorted.length * share)]?.toFixed(1)} ms`;
console.log(`${sorted.length} answers: half arrive within ${at(0.5)}, 95 % within ${at(0.95)}`);
await node.close();
await client.close();
await gateway.stop();
await model.close();
