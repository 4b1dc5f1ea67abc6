import { openAgent } from "../../shared/aws/invoke.ts";
import { openSchedules, type TimerEvent } from "../../shared/aws/schedules.ts";
import { openSecrets } from "../../shared/aws/secrets.ts";
import { openSockets } from "../../shared/aws/sockets.ts";
import { openTable } from "../../shared/aws/table.ts";
import { readEnvironment } from "../../shared/config.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { once, wrapHandler } from "../../shared/handler.ts";
import { closeUnauthenticated, expireTools, resetIfDue, sweep, type Timer } from "./timer.ts";

const timer = once((): Timer => {
  const environment = readEnvironment();
  const table = openTable(environment.tableName);
  return {
    table,
    schedules: openSchedules(environment),
    configuration: openConfiguration(table, openSecrets(environment.ssmPrefix)),
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
      case "reset-due":
        return resetIfDue(timer(), event);
      case "sweep":
        return sweep(timer());
    }
  },
  { fields: ({ kind }) => ({ kind }) },
);
