import { Stack, Validations } from "aws-cdk-lib";
import { Effect, PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import { type Arns, type FunctionName, type Grant, grants, resources } from "../permissions.ts";

/**
 * A function's role: exactly its rows of permissions.ts, one statement a row, no managed policy. CDK's grant
 * methods cannot add statements (see `role`).
 */
export class FunctionRole extends Construct {
  /** Immutable, so that no other construct can add permissions. */
  readonly role;

  constructor(scope: Construct, id: string, props: { functionName: FunctionName; arns: Arns }) {
    super(scope, id);
    const rows = grants[props.functionName];
    const role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
      description: `What the ${props.functionName} function may do`,
      inlinePolicies: {
        permissions: new PolicyDocument({
          // One statement a row, so that the deployed policy reads as permissions.ts does.
          minimize: false,
          statements: rows.map((row) => statementOf(row, props.arns)),
        }),
      },
    });
    for (const row of rows) acknowledgeWildcard(role, row, props.arns);
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

/**
 * Formats an ARN with its CloudFormation references as `<LogicalId.Attribute>`, as in cdk-nag's finding ids.
 */
function flatten(value: unknown): string {
  if (typeof value === "string") return value;
  const reference = value as { Ref?: string; "Fn::GetAtt"?: string[]; "Fn::Join"?: [string, unknown[]] };
  if (reference.Ref) return `<${reference.Ref}>`;
  if (reference["Fn::GetAtt"]) return `<${reference["Fn::GetAtt"].join(".")}>`;
  const [delimiter, parts] = reference["Fn::Join"] ?? ["", []];
  return parts.map(flatten).join(delimiter);
}
