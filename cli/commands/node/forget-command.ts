import type { Action } from "../../app/program.ts";

export const forgetNode: Action = async (context, { args, options }) => {
  const gateway = await context.gateway();
  const force = options.force === true;
  const result = await gateway.request("node.forget", { nodeId: args[0] ?? "", force });
  const ended = result.disconnected ? "; its connection was closed" : "";
  const outcome = result.removed
    ? `any node token may now use the id ${result.nodeId}${ended}`
    : `the id ${result.nodeId} belonged to no token${ended}`;
  context.print(result, outcome);
};
