import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { functionNames } from "../../../infra/permissions.ts";
import { scheduleRoleArn } from "../../../local/cloud-names.ts";
import { functionArn } from "../../../local/lambda/host.ts";
import { accessKeyIdOfFunction } from "../../aws/emulators/lambda/process-host.ts";
import { authorizer, type RoleAuthorizer, rolePolicies } from "../iam.ts";
import { synthesizeTemplate, type TemplateJson } from "../synthesis.ts";

/** The authorizer that the end-to-end tests give to the local cloud. */
export function iamCases(): void {
  const table = "arn:aws:dynamodb:us-east-1:000000000000:table/gsv-local";
  const bucket = "arn:aws:s3:::gsv-storage";

  let template: TemplateJson;
  let roles: RoleAuthorizer;

  beforeAll(() => {
    template = synthesizeTemplate();
  });

  beforeEach(() => {
    roles = authorizer(template);
  });

  describe("a role", () => {
    test("allows its listed actions", () => {
      expect(roles.refusal("agent", "dynamodb:UpdateItem", table)).toBeUndefined();
      expect(roles.refusal("timer", "dynamodb:Query", `${table}/index/due`)).toBeUndefined();
      expect(roles.refusal("socket", "lambda:InvokeFunction", functionArn("agent"))).toBeUndefined();
    });

    test("does not allow another action, and the refusal says which", () => {
      expect(roles.refusal("webhook", "dynamodb:DeleteItem", table)).toBe(
        `the role of webhook does not allow dynamodb:DeleteItem on ${table} with {}`,
      );
    });

    test("does not allow the same action on another resource", () => {
      expect(roles.refusal("agent", "dynamodb:Query", `${table}/index/due`)).toBeDefined();
      expect(roles.refusal("agent", "dynamodb:GetItem", `${table}-2`)).toBeDefined();
      expect(roles.refusal("socket", "lambda:InvokeFunction", functionArn("timer"))).toBeDefined();
      expect(
        roles.refusal("agent", "ssm:GetParameter", "arn:aws:ssm:us-east-1:000000000000:parameter/gsv/local"),
      ).toBeDefined();
    });

    test("reaches the keys under its prefixes only", () => {
      expect(roles.refusal("agent", "s3:GetObject", `${bucket}/agents/main/SOUL.md`)).toBeUndefined();
      expect(roles.refusal("agent", "s3:GetObject", `${bucket}/other/SOUL.md`)).toBeDefined();
      expect(roles.refusal("webhook", "s3:GetObject", `${bucket}/agents/main/SOUL.md`)).toBeDefined();
    });

    test("of the webhook reaches neither tokens nor secrets other than its channels', and changes no settings", () => {
      const refusal = (action: string, pk: string) =>
        roles.refusal("webhook", `dynamodb:${action}`, table, { "dynamodb:LeadingKeys": pk });
      for (const pk of [
        "S#agent:main:main",
        "RX#telegram#default#1",
        "SAID#telegram#default#dm#1",
        "PAIR",
        "ACTIVE#main",
        "CHANNEL",
      ])
        for (const action of ["GetItem", "PutItem", "UpdateItem"])
          expect(refusal(action, pk), pk).toBeUndefined();
      for (const pk of ["TOKEN", "CRON", "CONN#1", "PEER#client", "ID#node", "PAIR#x", "xS#1", "HEARTBEAT"])
        for (const action of ["GetItem", "PutItem", "UpdateItem", "DeleteItem"])
          expect(refusal(action, pk), pk).toBeDefined();
      expect(refusal("GetItem", "CONFIG")).toBeUndefined();
      expect(refusal("UpdateItem", "CONFIG")).toBeDefined();
      const secret = (path: string) =>
        roles.refusal(
          "webhook",
          "ssm:GetParameter",
          `arn:aws:ssm:us-east-1:000000000000:parameter/gsv/local/secrets/${path}`,
        );
      expect(secret("channels/telegram/accounts/default/botToken")).toBeUndefined();
      for (const path of ["apiKeys/anthropic", "transcription/apiKey", "channels", "auth/token"])
        expect(secret(path), path).toBeDefined();
    });

    test("allows only under its condition", () => {
      const pass = (service?: string) =>
        roles.refusal(
          "agent",
          "iam:PassRole",
          scheduleRoleArn,
          service ? { "iam:PassedToService": service } : {},
        );
      expect(pass("scheduler.amazonaws.com")).toBeUndefined();
      expect(pass("lambda.amazonaws.com")).toBeDefined();
      expect(pass()).toBeDefined();
    });
  });

  describe("a request", () => {
    // The role of the page may not even read.
    test.each(functionNames.filter((name) => name !== "page"))(
      "that is signed with the key of %s is checked against its role",
      (name) => {
        const accessKeyId = accessKeyIdOfFunction(name);
        const context = { "dynamodb:LeadingKeys": "FAULT" };
        const fault = { accessKeyId, action: "dynamodb:UpdateItem", resource: table, context };
        const allowed = roles.authorize(fault);
        const refused = roles.authorize({ accessKeyId, action: "dynamodb:DeleteTable", resource: table });
        expect([allowed, refused]).toEqual([true, false]);
        expect(roles.refusals()).toEqual([expect.stringContaining(`the role of ${name}`)]);
      },
    );

    test("that is signed with another key is the owner's, and allowed", () => {
      const accessKeyId = "AKIAIOSFODNN7EXAMPLE";
      expect(roles.authorize({ accessKeyId, action: "dynamodb:DeleteTable", resource: table })).toBe(true);
    });
  });

  describe("unused grants", () => {
    test("are all that a request to the local cloud can need, before the first request", () => {
      const all = functionNames.flatMap((name) =>
        rolePolicies(template)[name].map(({ action, resource }) => `${name}: ${action} on ${resource}`),
      );
      const untestable = all.filter((grant) => /: (logs|sqs|bedrock):/.test(grant));
      expect(untestable).toHaveLength(functionNames.length * 2 + 2 + 2);
      expect(roles.unusedGrants()).toEqual(all.filter((grant) => !untestable.includes(grant)));
      expect(roles.usedGrants()).toEqual([]);
    });

    test("decrease with an allowed request, and only with that", () => {
      const before = roles.unusedGrants();
      roles.refusal("webhook", "dynamodb:DeleteItem", table);
      expect(roles.unusedGrants()).toEqual(before);
      roles.refusal("webhook", "dynamodb:GetItem", table);
      expect(before.filter((grant) => !roles.unusedGrants().includes(grant))).toEqual([
        `webhook: dynamodb:GetItem on ${table}`,
      ]);
      expect(roles.usedGrants()).toEqual([`webhook: dynamodb:GetItem on ${table}`]);
    });

    test("exclude those that another authorizer has seen used", () => {
      const others = [`webhook: dynamodb:GetItem on ${table}`, `timer: dynamodb:Query on ${table}/index/due`];
      const unused = roles.unusedGrants(others);
      expect(unused).toHaveLength(roles.unusedGrants().length - others.length);
      expect(unused).not.toContain(others[1]);
    });
  });

  test("a role with denials or managed policies is refused, not misread", () => {
    const role = () =>
      Object.values(template.Resources).find(
        ({ Type, Properties }) =>
          Type === "AWS::IAM::Role" && Properties.Description === "What the webhook function may do",
      )!.Properties;
    const changed = (change: (role: Record<string, unknown>) => void) => {
      const original = template;
      template = structuredClone(original);
      change(role());
      const result = template;
      template = original;
      return result;
    };
    expect(() => rolePolicies(changed((it) => Object.assign(it, { ManagedPolicyArns: ["arn"] })))).toThrow(
      "managed policies",
    );
    const denying = changed((it) => {
      const [policy] = it.Policies as { PolicyDocument: { Statement: { Effect: string }[] } }[];
      policy!.PolicyDocument.Statement[0]!.Effect = "Deny";
    });
    expect(() => rolePolicies(denying)).toThrow("not a plain Allow");
  });
}
