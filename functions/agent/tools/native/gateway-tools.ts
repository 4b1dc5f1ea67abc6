import * as v from "valibot";
import { chooseNode } from "../../../../shared/peers/nodes.ts";
import { count } from "../../../../shared/protocol/schemas.ts";
import { checkConfigurationReadable } from "../../../../shared/workspace/privacy.ts";
import { nativeTool } from "./native-tool.ts";

export const configGet = nativeTool({
  name: "gsv__ConfigGet",
  description:
    "Read the gateway's configuration, whole or at a path such as session.dmScope. Secrets are masked.",
  arguments: { path: v.optional(v.pipe(v.string(), v.maxLength(512))) },
  repeatable: true,
  forGuests: false,
  async run(args, { agent, turn }) {
    checkConfigurationReadable(turn.audience);
    return { ok: true, result: await agent.configuration.get(args.path || undefined) };
  },
});

export const logsGet = nativeTool({
  name: "gsv__LogsGet",
  description:
    "Read the latest log lines of a connected node. nodeId may be left out when there is only one.",
  arguments: { nodeId: v.optional(v.string()), lines: v.optional(count(1, 5000)) },
  repeatable: true,
  forGuests: false,
  asksNode: true,
  async run(args, { turn }) {
    const node = chooseNode(turn.nodes, args.nodeId);
    return { ask: { nodeId: node.id, event: "logs.get", payload: { lines: args.lines ?? 100 } } };
  },
});
