import { Duration, Stack, Validations } from "aws-cdk-lib";
import { CfnBudget } from "aws-cdk-lib/aws-budgets";
import { ComparisonOperator, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";

/**
 * The dead-letter queue for events that failed on every retry and for undeliverable schedules, and the owner's notifications:
 * one alarm on one metric, because each metric of an alarm costs $0.10 per month, and a budget, which is free.
 */
export class Failures extends Construct {
  readonly deadLetters: Queue;
  private readonly topic: Topic | undefined;

  /** @param props `monthlyBudget`: US dollars of the whole account, above which the owner gets an email if there is an address */
  constructor(
    scope: Construct,
    id: string,
    props: { alarmEmail: string | undefined; monthlyBudget: number },
  ) {
    super(scope, id);
    this.deadLetters = new Queue(this, "DeadLetters", {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    Validations.of(this.deadLetters).acknowledge({
      id: "AwsSolutions-SQS3",
      reason:
        "It is the dead-letter queue: Lambda and EventBridge Scheduler send to it; it is no queue's redrive target.",
    });
    if (props.alarmEmail === undefined) return;
    this.topic = this.createTopic(props.alarmEmail);
    this.createBudget(props.alarmEmail, props.monthlyBudget);
  }

  /**
   * Adds the alarm. The timer function's metric Errors is above zero while sweeps or watches fail, and has no value while
   * neither runs. Watches fail for a quarter of an hour after any function has recorded a fault (`shared/runtime/faults.ts`).
   */
  watch(timer: LambdaFunction): void {
    const alarm = timer
      .metricErrors({ period: Duration.minutes(5), statistic: "Sum" })
      .createAlarm(this, "Trouble", {
        alarmDescription:
          "The gateway needs you: a function fails or is invoked unusually often, or the sweep, which resumes " +
          "unfinished work, does not run. The last line timer.failed in the timer function's log says which. Without " +
          "such a line nothing has run for ten minutes: check the function's metric Throttles, and its schedules.",
        threshold: 0,
        comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
        evaluationPeriods: 2,
        // No value: the timer function did not run, not even for the sweep, which is due every minute.
        treatMissingData: TreatMissingData.BREACHING,
      });
    if (this.topic) alarm.addAlarmAction(new SnsAction(this.topic));
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

  private createTopic(email: string): Topic {
    const topic = new Topic(this, "Alarms", { enforceSSL: true });
    // A topic with an explicit policy loses the default policy, which lets the account's alarms publish.
    topic.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal("cloudwatch.amazonaws.com")],
        actions: ["sns:Publish"],
        resources: [topic.topicArn],
        conditions: { StringEquals: { "aws:SourceAccount": Stack.of(this).account } },
      }),
    );
    topic.addSubscription(new EmailSubscription(email));
    return topic;
  }
}
