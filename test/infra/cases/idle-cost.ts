import { expect, it } from "vitest";
import { idleCostPerMonth } from "../../bench/deployed/idle-cost.ts";
import { synthesizeTemplate } from "../synthesis.ts";

/** The cost of an idle month. */
export function idleCostCases(): void {
  /** Max cost of a month without messages, in US dollars at list price. */
  const most = 0.15;

  /** The template of a stage with another resource. */
  function templateWith(Type: string, Properties: Record<string, unknown> = {}) {
    const { Resources } = synthesizeTemplate();
    return { Resources: { ...Resources, Another: { Type, Properties } } };
  }

  it("an idle month costs less than 15 cents at list price, including mails to the owner", () => {
    const told: Record<string, string> = { alarmEmail: "a@example.com", requireHeader: "true" };
    for (const context of [{}, told]) {
      const { total, by_part } = idleCostPerMonth(synthesizeTemplate(context));
      expect(total).toBeLessThan(most);
      expect(total).toBeGreaterThan(0.1);
      expect(Object.values(by_part).every((usd) => usd > 0)).toBe(true);
    }
  });

  it("traces of the sweep and the watch cost what the setting says", () => {
    const { by_part } = idleCostPerMonth(synthesizeTemplate({ tracing: "true" }));
    expect(by_part).toMatchObject({ traces: expect.closeTo(0.26, 2) });
  });

  it.each([
    ["a second alarm", "AWS::CloudWatch::Alarm", { MetricName: "Errors" }],
    [
      "an alarm over two metrics",
      "AWS::CloudWatch::Alarm",
      { Metrics: [{ MetricStat: {} }, { Expression: "a" }] },
    ],
    ["a second schedule every minute", "AWS::Scheduler::Schedule", { ScheduleExpression: "rate(1 minute)" }],
  ])("%s would cost more than that", (_, type, properties) => {
    expect(idleCostPerMonth(templateWith(type, properties)).total).toBeGreaterThan(most);
  });

  it.each([
    ["a resource that is paid by the month", "AWS::KMS::Key", {}, /Another \(AWS::KMS::Key\) is not known/],
    ["a key of KMS", "AWS::SNS::Topic", { KmsMasterKeyId: "alias/own" }, /KmsMasterKeyId/],
    ["a table paid by the hour", "AWS::DynamoDB::GlobalTable", { BillingMode: "PROVISIONED" }, /by the hour/],
    ["logs without a retention limit", "AWS::Logs::LogGroup", {}, /no retention limit/],
  ])("%s is found", (_, type, properties, fault) => {
    expect(() => idleCostPerMonth(templateWith(type, properties))).toThrow(fault);
  });
}
