import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Duration, RemovalPolicy } from "aws-cdk-lib";
import {
  Architecture,
  CfnEventInvokeConfig,
  Code,
  Function as LambdaFunction,
  RecursiveLoop,
  Runtime,
} from "aws-cdk-lib/aws-lambda";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import type { Arns, FunctionName } from "../permissions.ts";
import { FunctionRole } from "./function-role.ts";

export interface GatewayFunctionProps {
  name: FunctionName;
  /**
   * The function's name in Lambda. It is fixed, so that roles can refer to functions that are created later.
   */
  functionName: string;
  description: string;
  memoryMegabytes: number;
  timeout: Duration;
  /** Folder of the built bundles, with one folder a function. */
  bundles: string;
  environment: Record<string, string>;
  arns: Omit<Arns, "logGroup">;
  logGroupArn: string;
  logRetentionDays: RetentionDays;
  /** Most invocations at a time; without it, as many as the account allows. */
  reservedConcurrency?: number;
  /** Whether it may invoke itself without end. */
  invokesItself?: boolean;
  /** For asynchronously invoked functions. */
  asynchronous?: {
    /** Age at which an event that was not processed is given up. */
    eventAge: Duration;
    /** ARN of the queue for events that were given up. Without it they are dropped. */
    failedEvents?: string;
  };
}

/** One Lambda function with its bundle, role and log group. */
export class GatewayFunction extends Construct {
  readonly lambda: LambdaFunction;
  readonly log: LogGroup;

  constructor(scope: Construct, id: string, props: GatewayFunctionProps) {
    super(scope, id);
    const { role } = new FunctionRole(this, "Role", {
      functionName: props.name,
      arns: { ...props.arns, logGroup: props.logGroupArn },
    });
    this.log = new LogGroup(this, "Log", {
      logGroupName: `/aws/lambda/${props.functionName}`,
      retention: props.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.lambda = new LambdaFunction(this, "Function", {
      functionName: props.functionName,
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: Code.fromAsset(bundleOf(props.bundles, props.name)),
      handler: "handler.handler",
      memorySize: props.memoryMegabytes,
      timeout: props.timeout,
      environment: props.environment,
      role,
      reservedConcurrentExecutions: props.reservedConcurrency,
      // Lambda ends a chain of functions that invoke each other after about 16 rounds. A long turn is such a
      // chain of agents, which hand it over before their 15 minutes are over.
      recursiveLoop: props.invokesItself ? RecursiveLoop.ALLOW : RecursiveLoop.TERMINATE,
      logGroup: this.log,
    });
    if (props.asynchronous !== undefined) {
      const { eventAge, failedEvents } = props.asynchronous;
      new CfnEventInvokeConfig(this, "Retries", {
        functionName: this.lambda.functionName,
        qualifier: "$LATEST",
        maximumRetryAttempts: 2,
        maximumEventAgeInSeconds: eventAge.toSeconds(),
        ...(failedEvents ? { destinationConfig: { onFailure: { destination: failedEvents } } } : {}),
      });
    }
  }
}

function bundleOf(bundles: string, name: FunctionName): string {
  const folder = join(bundles, name);
  if (existsSync(join(folder, "handler.mjs"))) return folder;
  throw new Error(`there is no bundle of the ${name} function in ${folder}: run "npm run build" first`);
}
