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
  /** The function's name in Lambda. Fixed, so that roles can name functions that are created after them. */
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
  /** ARN of the queue that receives events which failed on every retry; for functions invoked asynchronously. */
  failedEvents?: string;
}

/** One Lambda function over its bundle, with its own role and its own log group. */
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
      // Lambda stops functions that wake each other in a loop after 16 rounds; the sweep resumes a genuine run.
      recursiveLoop: RecursiveLoop.TERMINATE,
      logGroup: this.log,
    });
    if (props.failedEvents !== undefined) {
      new CfnEventInvokeConfig(this, "Retries", {
        functionName: this.lambda.functionName,
        qualifier: "$LATEST",
        maximumRetryAttempts: 2,
        destinationConfig: { onFailure: { destination: props.failedEvents } },
      });
    }
  }
}

function bundleOf(bundles: string, name: FunctionName): string {
  const folder = join(bundles, name);
  if (existsSync(join(folder, "handler.mjs"))) return folder;
  throw new Error(`there is no bundle of the ${name} function in ${folder}: run "npm run build" first`);
}
