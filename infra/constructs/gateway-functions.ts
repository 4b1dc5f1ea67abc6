import { Duration } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { type Arns, type FunctionName, functionNames } from "../permissions.ts";
import type { Settings } from "../stage-settings.ts";
import { GatewayFunction } from "./gateway-function.ts";

/** Memory of the functions in MB. CPU is proportional: one core per 1,769 MB. */
export const memoryMegabytes: Record<FunctionName, number> = {
  socket: 256,
  // A cold start takes about 150 ms of CPU; Slack and Discord time out after 3 s.
  webhook: 512,
  timer: 256,
  agent: 512,
  openai: 256,
  page: 256,
  // A cold start reads the MCP SDK: programs wait for their list of tools.
  mcp: 512,
};

interface Shape {
  description: string;
  timeout: Duration;
  /**
   * For a function that is invoked asynchronously: Lambda tries an event three times in three minutes, and gives it up at
   * this age. By then the sweep has found the same work, and the table has all facts of the event.
   */
  eventAge?: Duration;
  /** Whether the dead-letter queue keeps events that were given up. */
  keepsFailedEvents?: boolean;
  /** Whether it may invoke itself without end. */
  invokesItself?: boolean;
}

const shapes: Record<FunctionName, Shape> = {
  socket: {
    description: "Frames and connects of clients and nodes",
    // API Gateway waits 29 s for an integration.
    timeout: Duration.seconds(29),
  },
  webhook: {
    description: "Messages from channels",
    timeout: Duration.seconds(29),
  },
  timer: {
    description: "Timeouts and the sweep",
    timeout: Duration.seconds(60),
    eventAge: Duration.minutes(5),
    // A watch fails on purpose, and a sweep is repeated every minute.
    keepsFailedEvents: false,
  },
  agent: {
    description: "Turns of sessions",
    timeout: Duration.minutes(15),
    eventAge: Duration.minutes(5),
    keepsFailedEvents: true,
    invokesItself: true,
  },
  openai: {
    description: "Clients of OpenAI's API",
    // As long as a client listens to a turn. No event is retried.
    timeout: Duration.minutes(15),
  },
  mcp: {
    description: "Programs that use the agent through MCP",
    // API Gateway waits 29 s for an integration.
    timeout: Duration.seconds(29),
  },
  page: {
    description: "The console's page",
    timeout: Duration.seconds(10),
  },
};

export interface GatewayFunctionsProps {
  /** The agent and the timer function are named `{name}-agent` and `{name}-timer`. */
  name: string;
  /** Prefix of the names of the others and of the log groups. Without it, CloudFormation generates them. */
  namePrefix: string | undefined;
  /** Folder of the built bundles, with one folder per function. */
  bundles: string;
  settings: Pick<Settings, "logRetentionDays" | "tracing" | "webhookConcurrency">;
  environment: Record<string, string>;
  arns: Omit<Arns, "logGroup">;
}

/** Agent and timer call each other, so each name must exist before the other's function. */
const namedBefore: readonly FunctionName[] = ["agent", "timer"];

/** Creates the gateway's functions in `scope`. */
export function createFunctions(
  scope: Construct,
  { name: base, namePrefix, settings, ...shared }: GatewayFunctionsProps,
): Record<FunctionName, GatewayFunction> {
  const create = (name: FunctionName) => {
    const { eventAge, keepsFailedEvents, ...shape } = shapes[name];
    const failedEvents = keepsFailedEvents ? shared.arns.deadLetters : undefined;
    const prefix = namedBefore.includes(name) ? base : namePrefix;
    const created = new GatewayFunction(scope, `${name[0]?.toUpperCase()}${name.slice(1)}`, {
      ...shape,
      ...shared,
      name,
      memoryMegabytes: memoryMegabytes[name],
      functionName: prefix && `${prefix}-${name}`,
      logGroupName: namePrefix && `/aws/lambda/${namePrefix}-${name}`,
      logRetentionDays: settings.logRetentionDays,
      isTraced: settings.tracing,
      reservedConcurrency: name === "webhook" ? settings.webhookConcurrency : undefined,
      asynchronous: eventAge && { eventAge, failedEvents },
    });
    return [name, created] as const;
  };
  return Object.fromEntries(functionNames.map(create)) as Record<FunctionName, GatewayFunction>;
}
