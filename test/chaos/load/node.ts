import { Connection } from "../../../cli/gateway/connection.ts";
import { Outbox } from "../../../cli/node/result-outbox.ts";
import { CallLog } from "../../../cli/node/running-calls.ts";
import { decodeCallAddress } from "../../../shared/session/call-address.ts";
import { nodeParams } from "../../support/peer.ts";
import { type MessagePlan, resultText, tagOf, toolName } from "../faults/plan.ts";
import { callName } from "./model.ts";
import { type ChaosPeer, peerTiming, watchPeer } from "./peer.ts";

export interface ChaosNode extends ChaosPeer {
  /** Ids of the executed calls, one entry for each execution. */
  carriedOut: string[];
}

export interface ChaosNodeOptions {
  url: string;
  token: string;
  nodeId: string;
  planOf(tag: string): MessagePlan;
  /** Called for each call with the gateway's id and the model's. */
  onCall(id: string, call: string): void;
}

/**
 * A node as the command line runs it (its connection, its log of calls, its outbox). Its one tool follows the plan of
 * the message.
 */
export async function startChaosNode(options: ChaosNodeOptions): Promise<ChaosNode> {
  const { url, token, nodeId, planOf, onCall } = options;
  const { client, tools, nodeRuntime } = nodeParams(nodeId, [toolName]);
  const connection = new Connection({
    url,
    token,
    client: { ...client, mode: "node" },
    tools,
    nodeRuntime: runtime(nodeRuntime),
    timing: peerTiming,
  });
  const outbox = new Outbox(connection, () => undefined);
  const log = new CallLog();
  const carriedOut: string[] = [];
  const answer = (callId: string, outcome: { result: unknown } | { error: string }) =>
    outbox.add(`result of ${callId}`, "tool.result", { callId, ...outcome });

  connection.onEvent("tool.invoke", ({ callId, args }) => {
    const claim = log.claim(callId);
    if (claim === "running") return;
    if (claim !== "new") return answer(callId, claim);
    const id = decodeCallAddress(callId)?.callId ?? "";
    const call = String(args.call);
    carriedOut.push(id);
    onCall(id, call);
    const work = workOf(call, planOf);
    if (work?.silent) return;
    setTimeout(() => {
      const outcome = { result: resultText(call) };
      log.finish(callId, outcome);
      answer(callId, outcome);
    }, work?.workMs ?? 0);
  });
  const peer = watchPeer(connection, "node", nodeId);
  await connection.open();
  return { ...peer, carriedOut };
}

/** The part of the plan about one call. */
function workOf(call: string, planOf: (tag: string) => MessagePlan) {
  const tag = tagOf(`#${call.split("_")[1]}`);
  const [round, place] = callName(call).split(".").map(Number);
  return tag === undefined ? undefined : planOf(tag).rounds[round ?? 0]?.[place ?? 0];
}

function runtime({
  hostRole,
  hostCapabilities,
  toolCapabilities,
}: ReturnType<typeof nodeParams>["nodeRuntime"]) {
  return { hostRole, hostCapabilities, toolCapabilities };
}
