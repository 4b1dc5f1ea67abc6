import { Match } from "aws-cdk-lib/assertions";
import { describe, expect, test } from "vitest";
import { synthesizeTemplate, templateOf } from "../synthesis.ts";

/** The cost that strangers can cause. */
export function strangersCases(): void {
  describe("the cost that strangers can cause", () => {
    test("connects have a separate rate limit, which the stage chooses", () => {
      templateOf({ connectsPerSecond: "3" }).hasResourceProperties("AWS::ApiGatewayV2::Stage", {
        RouteSettings: { $connect: { ThrottlingRateLimit: 3, ThrottlingBurstLimit: 6 } },
      });
    });

    test("requests of programs have a rate limit, which the stage chooses", () => {
      templateOf({ programsPerSecond: "3" }).hasResourceProperties("AWS::ApiGatewayV2::Stage", {
        StageName: "$default",
        DefaultRouteSettings: { ThrottlingRateLimit: 3, ThrottlingBurstLimit: 6 },
      });
    });

    test("the stage is created after the route that its settings name", () => {
      const { Resources } = synthesizeTemplate();
      const entries = Object.entries(Resources);
      const [route] = entries.find(([, { Properties }]) => Properties?.RouteKey === "$connect") ?? [];
      const [, stage] = entries.find(([, { Properties }]) => Properties?.StageName === "ws") ?? [];
      expect(stage?.DependsOn).toContain(route);
    });

    test("no concurrency is reserved unless the stage requests it, so that an account with a limit of ten can deploy", () => {
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

    test("the header is required only if the stage says so", () => {
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

    test("with an address, a budget reports a month that is or will be too expensive", () => {
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
