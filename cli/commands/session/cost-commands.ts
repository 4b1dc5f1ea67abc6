import { costText } from "../../../shared/session/commands/cost-command.ts";
import type { Action } from "../../app/program.ts";
import { keyOf } from "./session-commands.ts";

export const showCost: Action = async (context, { args }) => {
  const gateway = await context.gateway();
  const cost = await gateway.request("session.cost", { sessionKey: await keyOf(context, args[0]) });
  context.print(cost, costText(cost));
};
