import { existsSync } from "node:fs";
import { join } from "node:path";
import { ArnFormat, type Duration, RemovalPolicy, Stack, Validations } from "aws-cdk-lib";
import { Effect, PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import {
  Architecture,
  CfnEventInvokeConfig,
  Code,
  Function as LambdaFunction,
  RecursiveLoop,
  Runtime,
  Tracing,
} from "aws-cdk-lib/aws-lambda";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { type Arns, type FunctionName, type Grant, grants, resources, traces } from "../permissions.ts";

export interface GatewayFunctionProps {
  name: FunctionName;
  /** The function's name in Lambda. Without it, CloudFormation generates it, like the next one. */
  functionName: string | undefined;
  logGroupName: string | undefined;
  description: string;
  memoryMegabytes: number;
  timeout: Duration;
  /** Folder of the built bundles, with one folder per function. */
  bundles: string;
  environment: Record<string, string>;
  arns: Omit<Arns, "logGroup">;
  logRetentionDays: RetentionDays;
  /** Max concurrent invocations; without it, as many as the account allows. */
  reservedConcurrency?: number;
  /** Whether X-Ray traces its invocations. */
  isTraced: boolean;
  /** Whether it may invoke itself without end. */
  invokesItself?: boolean;
  /** For asynchronously invoked functions. */
  asynchronous?: {
    /** Age at which Lambda gives up an unprocessed event. */
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
    this.log = new LogGroup(this, "Log", {
      logGroupName: props.logGroupName,
      retention: props.logRetentionDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const logGroup = Stack.of(this).formatArn({
      service: "logs",
      resource: "log-group",
      resourceName: this.log.logGroupName,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    const { role } = new FunctionRole(this, "Role", {
      rows: [...grants[props.name], ...(props.isTraced ? [traces] : [])],
      functionName: props.name,
      arns: { ...props.arns, logGroup },
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
      tracing: props.isTraced ? Tracing.ACTIVE : undefined,
      reservedConcurrentExecutions: props.reservedConcurrency,
      // Lambda ends a chain of functions that invoke each other after about 16 rounds. A long turn is such a chain: each
      // agent invokes the next one before its 15 minutes are over.
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

/**
 * A function's role: exactly its rows of permissions.ts, one statement per row, no managed policy. CDK's grant
 * methods cannot add statements (see `role`).
 */
class FunctionRole extends Construct {
  /** Immutable, so that no other construct can add permissions. */
  readonly role;

  constructor(
    scope: Construct,
    id: string,
    { functionName, arns, rows }: { functionName: FunctionName; arns: Arns; rows: readonly Grant[] },
  ) {
    super(scope, id);
    const role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
      description: `What the ${functionName} function may do`,
      inlinePolicies: {
        permissions: new PolicyDocument({
          // One statement per row, so that the deployed policy corresponds to permissions.ts.
          minimize: false,
          statements: rows.map((row) => statementOf(row, arns)),
        }),
      },
    });
    for (const row of rows) acknowledgeWildcard(role, row, arns);
    this.role = role.withoutPolicyUpdates();
  }
}

function statementOf(row: Grant, arns: Arns): PolicyStatement {
  return new PolicyStatement({
    effect: Effect.ALLOW,
    actions: [...row.actions],
    resources: [resources[row.resource].arn(arns)],
    conditions: row.when,
  });
}

/** Passes the row's reason for its wildcard to cdk-nag. A wildcard without a reason remains a finding. */
function acknowledgeWildcard(role: Role, row: Grant, arns: Arns): void {
  const resource = resources[row.resource];
  if (!("wildcard" in resource)) return;
  const arn = flatten(Stack.of(role).resolve(resource.arn(arns)));
  Validations.of(role).acknowledge({ id: `AwsSolutions-IAM5[Resource::${arn}]`, reason: resource.wildcard });
}

/** Formats an ARN with its CloudFormation references as `<LogicalId.Attribute>`, as in cdk-nag's finding ids. */
function flatten(value: unknown): string {
  if (typeof value === "string") return value;
  const reference = value as { Ref?: string; "Fn::GetAtt"?: string[]; "Fn::Join"?: [string, unknown[]] };
  if (reference.Ref) return `<${reference.Ref}>`;
  if (reference["Fn::GetAtt"]) return `<${reference["Fn::GetAtt"].join(".")}>`;
  const [delimiter, parts] = reference["Fn::Join"] ?? ["", []];
  return parts.map(flatten).join(delimiter);
}
