import type { Action } from "../../app/program.ts";

export const forgetNode: Action = async (context, { args, options }) => {
  const gateway = await context.gateway();
  const force = options.force === true;
  const result = await gateway.request("node.forget", { nodeId: args[0] ?? "", force });
  const ended = result.disconnected ? "; its connection is ended" : "";
  const told = result.removed
    ? `any node token may use the id ${result.nodeId} now${ended}`
    : `the id ${result.nodeId} belonged to no token${ended}`;
  context.print(result, told);
};
