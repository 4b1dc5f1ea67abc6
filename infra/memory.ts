import type { FunctionName } from "./permissions.ts";

/** Memory of the functions in megabytes; CPU comes with it, one core for each 1,769 MB. */
export const memoryMegabytes: Record<FunctionName, number> = {
  socket: 256,
  // A cold start takes some 150 ms of CPU, and Slack and Discord wait for 3 s in all.
  webhook: 512,
  timer: 256,
  agent: 512,
};
