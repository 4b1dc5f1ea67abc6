import type { FunctionName } from "./permissions.ts";

/** Memory of the functions in MB. CPU is proportional: one core for each 1,769 MB. */
export const memoryMegabytes: Record<FunctionName, number> = {
  socket: 256,
  // A cold start takes about 150 ms of CPU; Slack and Discord time out after 3 s.
  webhook: 512,
  timer: 256,
  agent: 512,
};
