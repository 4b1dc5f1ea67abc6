import { text, wholeNumber } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";

export const logs: Action = async (context, { options }) => {
  const lines = wholeNumber("--lines", options.lines, 1, 5000);
  const gateway = await context.gateway();
  const answer = await gateway.request("logs.get", { nodeId: text(options.node), lines });
  if (answer.truncated) context.note(`(${answer.nodeId}: older lines left out)`);
  context.print(answer, answer.lines.join("\n"));
};
