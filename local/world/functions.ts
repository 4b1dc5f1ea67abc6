import { createAgentHandler } from "../../functions/agent/agent-handler.ts";
import { createSocketHandler } from "../../functions/socket/socket-handler.ts";
import { createTimerHandler } from "../../functions/timer/timer-handler.ts";
import { createWebhookHandler } from "../../functions/webhook/webhook-handler.ts";
import type { World } from "../../shared/world/world.ts";
import { type FunctionName, type HostedFunction, stackFunctions } from "../lambda/host.ts";

/** The functions of the stack over a world, as the in-process host runs them. */
export function createFunctions(world: World): Record<FunctionName, HostedFunction> {
  return {
    socket: { handler: createSocketHandler(world), ...stackFunctions.socket },
    webhook: { handler: createWebhookHandler(world), ...stackFunctions.webhook },
    timer: { handler: createTimerHandler(world), ...stackFunctions.timer },
    agent: { handler: createAgentHandler(world), ...stackFunctions.agent },
  };
}
