/**
 * The functions' modules, each loaded when it is first used. Named one by one, because a bundler does not follow a path
 * that is put together while the program runs.
 */
export const functionSources: Record<string, () => Promise<unknown>> = {
  agent: () => import("../../functions/agent/handler.ts"),
  socket: () => import("../../functions/socket/handler.ts"),
  timer: () => import("../../functions/timer/handler.ts"),
  webhook: () => import("../../functions/webhook/handler.ts"),
};
