import { Match } from "aws-cdk-lib/assertions";
import { describe, expect, test } from "vitest";
import { synthesizeTemplate, templateOf } from "../synthesis.ts";

/** What a stranger can make a stage cost. */
export function strangersCases(): void {
  describe("what strangers may cost", () => {
    test("connects are throttled by a limit of their own, which the stage chooses", () => {
      templateOf({ connectsPerSecond: "3" }).hasResourceProperties("AWS::ApiGatewayV2::Stage", {
        RouteSettings: { $connect: { ThrottlingRateLimit: 3, ThrottlingBurstLimit: 6 } },
      });
    });

    test("the stage is made after the route that its settings name", () => {
      const { Resources } = synthesizeTemplate();
      const entries = Object.entries(Resources);
      const [route] = entries.find(([, { Properties }]) => Properties?.RouteKey === "$connect") ?? [];
      const [, stage] = entries.find(([, { Type }]) => Type === "AWS::ApiGatewayV2::Stage") ?? [];
      expect(stage?.DependsOn).toContain(route);
    });

    test("no concurrency is reserved, so that an account of ten can deploy, unless the stage asks for it", () => {
      const { Resources } = synthesizeTemplate();
      const reserved = Object.values(Resources).filter(
        ({ Properties }) => Properties?.ReservedConcurrentExecutions !== undefined,
      );
      expect(reserved).toEqual([]);
      templateOf({ webhookConcurrency: "5" }).hasResourceProperties("AWS::Lambda::Function", {
        FunctionName: "gsv-local-webhook",
        ReservedConcurrentExecutions: 5,
      });
    });

    test("the header is required only where the stage says so", () => {
      const socket = (environment: unknown) => ({
        FunctionName: "gsv-local-socket",
        Environment: { Variables: Match.objectLike({ REQUIRE_HEADER: environment }) },
      });
      templateOf().hasResourceProperties("AWS::Lambda::Function", socket(Match.absent()));
      templateOf({ requireHeader: "false" }).hasResourceProperties(
        "AWS::Lambda::Function",
        socket(Match.absent()),
      );
      templateOf({ requireHeader: "true" }).hasResourceProperties("AWS::Lambda::Function", socket("true"));
    });

    test("with an address, a budget tells of a month that is or will be too expensive", () => {
      const template = templateOf({ alarmEmail: "owner@example.com", monthlyBudget: "7" });
      const told = (NotificationType: string) =>
        Match.objectLike({
          Notification: Match.objectLike({ NotificationType, Threshold: 100 }),
          Subscribers: [{ SubscriptionType: "EMAIL", Address: "owner@example.com" }],
        });
      template.hasResourceProperties("AWS::Budgets::Budget", {
        Budget: Match.objectLike({ BudgetLimit: { Amount: 7, Unit: "USD" }, TimeUnit: "MONTHLY" }),
        NotificationsWithSubscribers: [told("ACTUAL"), told("FORECASTED")],
      });
    });
  });
}
