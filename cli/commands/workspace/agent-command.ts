import type { Action } from "../../app/program.ts";

/** Writes the initial files of an agent. Existing files are not changed. */
export const initAgent: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const result = await gateway.request("agent.init", args[0] === undefined ? {} : { agentId: args[0] });
  const { agentId, written } = result;
  const told =
    written.length > 0 ? `written: ${written.join(", ")}` : "nothing to write, all files are there";
  context.print(result, `agent ${agentId}: ${told}`);
};
