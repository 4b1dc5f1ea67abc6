import { CfnResource, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks } from "cdk-nag";
import type { IConstruct } from "constructs";
import { beforeAll, describe, expect, test } from "vitest";
import { stageApp } from "../synthesis.ts";

/** The findings of CDK's rules and of cdk-nag in the stack. */
export function checksCases(): void {
  const withEverything = {
    stage: "local",
    alarmEmail: "owner@example.com",
    metrics: "true",
    tracing: "true",
  };

  describe("CDK's built-in rules", () => {
    test.each([
      ["a stage with everything", withEverything],
      ["the stage without settings", {}],
    ])("find nothing in %s", (_, context) => {
      const { app } = stageApp(context, { validate: true });
      expect(() => app.synth()).not.toThrow();
    });

    test("are on: they find a property that does not exist", () => {
      const { app, stack } = stageApp({ stage: "local" }, { validate: true });
      new CfnResource(stack, "Broken", { type: "AWS::SQS::Queue", properties: { Colour: "red" } });
      expect(() => app.synth()).toThrow(/Colour/);
    });
  });

  describe("cdk-nag's AWS Solutions rules", () => {
    const { app } = stageApp(withEverything);
    const acknowledged = new Map<string, string>();
    let findings: string[];
    let unacknowledged: string[];

    beforeAll(() => {
      collectAcknowledged(app, acknowledged);
      unacknowledged = findingsOf(new AwsSolutionsChecks(app));
      const strict = new AwsSolutionsChecks(app);
      // cdk-nag calls this for every finding; without it the exceptions count too.
      Object.defineProperty(strict, "isAcknowledged", { value: () => false });
      findings = findingsOf(strict);
    });

    const findingsOf = (checks: AwsSolutionsChecks) =>
      checks.validateScope(app).violations.map(({ ruleName }) => ruleName);

    test("find only the exceptions", () => {
      expect(unacknowledged).toEqual([]);
    });

    test("each exception is needed, and has a reason", () => {
      expect([...acknowledged.keys()].sort()).toEqual([...new Set(findings)].sort());
      for (const reason of acknowledged.values()) expect(reason.length).toBeGreaterThan(30);
    });
  });
}

function collectAcknowledged(scope: IConstruct, into: Map<string, string>): void {
  for (const { type, data } of scope.node.metadata) {
    if (type !== Validations.ACKNOWLEDGED_RULES_METADATA_KEY) continue;
    for (const [id, reason] of Object.entries(data as Record<string, string>)) {
      into.set(id.replace(/^annotation::/i, ""), reason);
    }
  }
  for (const child of scope.node.children) collectAcknowledged(child, into);
}
