import { runUnsafeSimulation } from "@cloud-copilot/iam-simulate";
import { type FunctionName, functionNames, grants } from "../../infra/permissions.ts";
import { accountId, roleArn } from "../../local/http/aws-account.ts";
import { functionArn } from "../../local/lambda/host.ts";
import type { AccessRequest } from "../aws/emulators/access.ts";
import { accessKeyIdOfFunction } from "../aws/emulators/lambda/process-host.ts";
import { resolve, resourceNames } from "./references.ts";
import type { TemplateJson } from "./synthesis.ts";

/** One action on one resource pattern that a role allows. */
export interface Permission {
  action: string;
  /** An ARN of the local account, with `*` where the policy has it. */
  resource: string;
  condition?: Record<string, Record<string, string | string[]>>;
}

/** Condition keys of a request, such as `iam:PassedToService`. */
type Context = Record<string, string>;

interface Statement {
  Effect: string;
  Action: string | string[];
  Resource: unknown;
  Condition?: Permission["condition"];
}

/** Each function's permissions, read from the roles in the synthesized template, with the local cloud's ARNs. */
export function rolePolicies(template: TemplateJson): Record<FunctionName, Permission[]> {
  const names = resourceNames(template);
  const policyOf = (name: FunctionName): Permission[] => {
    const lambda = Object.values(template.Resources).find(
      ({ Type, Properties }) =>
        Type === "AWS::Lambda::Function" && String(Properties.FunctionName).endsWith(`-${name}`),
    );
    const reference = lambda?.Properties.Role as { "Fn::GetAtt": [string, string] } | undefined;
    const role = reference && template.Resources[reference["Fn::GetAtt"][0]]?.Properties;
    if (role === undefined) throw new Error(`the template has no function ${name} with a role of its own`);
    if (role.ManagedPolicyArns) throw new Error(`the role of ${name} has managed policies`);
    const policies = role.Policies as { PolicyDocument: { Statement: Statement[] } }[];
    const statements = policies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
    return statements.flatMap((statement) => permissionsOf(resolve(statement, names) as Statement));
  };
  return Object.fromEntries(functionNames.map((name) => [name, policyOf(name)])) as Record<
    FunctionName,
    Permission[]
  >;
}

function permissionsOf(statement: Statement): Permission[] {
  const known = ["Effect", "Action", "Resource", "Condition"];
  const strange = Object.keys(statement).filter((key) => !known.includes(key));
  if (statement.Effect !== "Allow" || strange.length > 0) {
    throw new Error(`not a plain Allow statement: ${JSON.stringify(statement)}`);
  }
  const resources = ([statement.Resource].flat() as string[]).map(localFunctionArn);
  return [statement.Action]
    .flat()
    .flatMap((action) =>
      resources.map(
        (resource) => ({ action, resource, condition: statement.Condition }) satisfies Permission,
      ),
    );
}

/** The local cloud has one stage, and its functions have no prefix. */
function localFunctionArn(resource: string): string {
  const name = functionNames.find((it) => resource.endsWith(`:function:gsv-local-${it}`));
  return name === undefined ? resource : functionArn(name);
}

export interface RoleAuthorizer {
  /** For the local cloud's endpoints. A key that belongs to no function is the account owner's, who may do everything. */
  authorize(request: AccessRequest): boolean;
  /** Undefined if the function's role allows the request, otherwise a sentence about the missing permission. */
  refusal(name: FunctionName, action: string, resource: string, context?: Context): string | undefined;
  /** Every refusal so far, once. */
  refusals(): string[];
  /** The permissions that requests have used so far, as `{function}: {action} on {resource}`. */
  usedGrants(): string[];
  /**
   * The permissions that no request has used, except those that no request to the local cloud can use.
   * @param usedElsewhere the permissions that other authorizers of the same template have seen used
   */
  unusedGrants(usedElsewhere?: readonly string[]): string[];
}

/** Checks requests against the roles of a synthesized template, like IAM. */
export function authorizer(template: TemplateJson): RoleAuthorizer {
  const policies = rolePolicies(template);
  const all = functionNames.flatMap((name) => policies[name].map((permission) => ({ name, permission })));
  const used = new Set<Permission>();
  const decisions = new Map<string, string | undefined>();

  /** Without condition keys that no permission for the action has, so that equal requests are decided once. */
  const conditionsOf = (name: FunctionName, action: string, context: Context): Context => {
    const conditions = policies[name].filter((permission) => permission.action === action);
    const names = JSON.stringify(conditions.map(({ condition }) => condition));
    return Object.fromEntries(Object.entries(context).filter(([key]) => names.includes(`"${key}"`)));
  };

  const decide = (name: FunctionName, action: string, resource: string, context: Context) => {
    const allowing = policies[name].filter((permission) => allows(permission, action, resource, context));
    for (const permission of allowing) used.add(permission);
    return allowing.length > 0
      ? undefined
      : `the role of ${name} does not allow ${action} on ${resource} with ${JSON.stringify(context)}`;
  };
  const refusal = (name: FunctionName, action: string, resource: string, given: Context = {}) => {
    const context = conditionsOf(name, action, given);
    const key = JSON.stringify([name, action, resource, context]);
    if (!decisions.has(key)) decisions.set(key, decide(name, action, resource, context));
    return decisions.get(key);
  };
  return {
    refusal,
    authorize: ({ accessKeyId, action, resource, context }) => {
      const name = functionOf(accessKeyId);
      return name === undefined || refusal(name, action, resource, context) === undefined;
    },
    refusals: () => [...decisions.values()].filter((reason) => reason !== undefined),
    usedGrants: () => all.filter(({ permission }) => used.has(permission)).map(describe),
    unusedGrants(usedElsewhere = []) {
      const unused = all.filter(
        ({ name, permission }) => !used.has(permission) && isTestable(name, permission),
      );
      return unused.map(describe).filter((grant) => !usedElsewhere.includes(grant));
    },
  };
}

function functionOf(accessKeyId: string): FunctionName | undefined {
  return functionNames.find((name) => accessKeyIdOfFunction(name) === accessKeyId);
}

function allows(permission: Permission, action: string, resource: string, context: Context): boolean {
  // Most permissions are for another action or resource; only patterns and conditions need the simulation.
  if (permission.action !== action) return false;
  const statement = {
    Effect: "Allow",
    Action: permission.action,
    Resource: permission.resource,
    Condition: permission.condition,
  };
  const result = runUnsafeSimulation(
    {
      request: {
        principal: roleArn("function"),
        action,
        resource: { resource, accountId },
        contextVariables: contextOf(context),
      },
      identityPolicies: [{ name: "permission", policy: { Version: "2012-10-17", Statement: [statement] } }],
      serviceControlPolicies: [],
      resourceControlPolicies: [],
    },
    {},
  );
  return result === "Allowed";
}

/** `dynamodb:LeadingKeys` has several values. */
function contextOf({ "dynamodb:LeadingKeys": key, ...context }: Context): Record<string, string | string[]> {
  return key === undefined ? context : { ...context, "dynamodb:LeadingKeys": [key] };
}

function describe({ name, permission }: { name: FunctionName; permission: Permission }): string {
  return `${name}: ${permission.action} on ${permission.resource}`;
}

/** Lambda itself makes some calls with a function's role, and there is no Bedrock in the local cloud. */
function isTestable(name: FunctionName, { action }: Permission): boolean {
  const byLambda = grants[name].some((grant) => grant.usedBy === "Lambda" && grant.actions.includes(action));
  return !byLambda && !action.startsWith("bedrock:");
}
