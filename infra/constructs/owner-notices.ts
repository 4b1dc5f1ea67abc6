import { CfnBudget } from "aws-cdk-lib/aws-budgets";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Construct } from "constructs";

/** Emails to the owner: a topic for the alarm, and a budget of the whole account, which is free. */
export class OwnerNotices extends Construct {
  readonly topic: Topic;

  /** @param props `monthlyBudget`: US dollars of the whole account, above which the owner gets an email */
  constructor(scope: Construct, id: string, props: { alarmEmail: string; monthlyBudget: number }) {
    super(scope, id);
    this.topic = new Topic(this, "Alarms", { enforceSSL: true });
    this.topic.addSubscription(new EmailSubscription(props.alarmEmail));
    this.createBudget(props.alarmEmail, props.monthlyBudget);
  }

  /** A budget of the whole account. It also compares the month's forecast. */
  private createBudget(address: string, monthlyBudget: number): void {
    const notify = (notificationType: "ACTUAL" | "FORECASTED") => ({
      notification: { notificationType, comparisonOperator: "GREATER_THAN", threshold: 100 },
      subscribers: [{ subscriptionType: "EMAIL", address }],
    });
    new CfnBudget(this, "Budget", {
      budget: {
        budgetType: "COST",
        timeUnit: "MONTHLY",
        budgetLimit: { amount: monthlyBudget, unit: "USD" },
      },
      notificationsWithSubscribers: [notify("ACTUAL"), notify("FORECASTED")],
    });
  }
}
