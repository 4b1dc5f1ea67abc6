import { openAgent } from "../../shared/aws/invoke.ts";
import type { TimerEvent } from "../../shared/aws/schedules.ts";
import { openSockets } from "../../shared/aws/sockets.ts";
import { openTable } from "../../shared/aws/table.ts";
import { readEnvironment } from "../../shared/config.ts";
import { once, wrapHandler } from "../../shared/handler.ts";
import { closeUnauthenticated, expireTools, sweep, type Timer } from "./timer.ts";

const timer = once((): Timer => {
  const environment = readEnvironment();
  return {
    table: openTable(environment.tableName),
    sockets: openSockets(environment.webSocketApiEndpoint),
    wake: openAgent(environment.agentFunction),
    now: Date.now,
  };
});

export const handler = wrapHandler<TimerEvent, void>(
  "timer",
  async (event) => {
    switch (event.kind) {
      case "tool-timeout":
        return expireTools(timer(), event);
      case "auth-timeout":
        return closeUnauthenticated(timer(), event.connectionId);
      case "sweep":
        return sweep(timer());
    }
  },
  { fields: ({ kind }) => ({ kind }) },
);
