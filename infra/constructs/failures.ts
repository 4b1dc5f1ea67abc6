import { Aws, CfnCondition, Duration, Fn, Stack, Validations } from "aws-cdk-lib";
import { CfnBudget } from "aws-cdk-lib/aws-budgets";
import {
  type Alarm,
  type CfnAlarm,
  ComparisonOperator,
  MathExpression,
  Metric,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { FilterPattern } from "aws-cdk-lib/aws-logs";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import type { GatewayFunction } from "./gateway-function.ts";

/** Invocations in five minutes above which the owner is told. */
const manyInvocations = 3000;

/**
 * The dead-letter queue for events that failed on every retry and for undeliverable schedules, and the alarms
 * that notify the owner.
 */
export class Failures extends Construct {
  readonly deadLetters: Queue;
  private readonly topic: Topic | undefined;
  private readonly alarmEmail: string | undefined;

  constructor(scope: Construct, id: string, props: { alarmEmail: string | undefined }) {
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
    this.alarmEmail = props.alarmEmail;
    this.topic = props.alarmEmail === undefined ? undefined : this.createTopic(props.alarmEmail);
    this.alarm(
      "WorkSetAside",
      this.deadLetters.metricApproximateNumberOfMessagesVisible({
        period: Duration.minutes(5),
        statistic: "Maximum",
      }),
      "Someone may be waiting for an answer: a turn or a timer failed on every retry and was set aside. The message " +
        "in the dead-letter queue holds the event and the error, the function's log the rest. The sweep goes on " +
        "trying turns that are unfinished. Mend the cause, then purge the queue to clear the alarm.",
    );
  }

  /**
   * Adds alarms on errors of the synchronously invoked functions. Lambda does not retry these invocations.
   */
  watch({ socket, webhook }: { socket: GatewayFunction; webhook: GatewayFunction }): void {
    this.alarm(
      "SocketErrors",
      errorsOf(socket),
      "Clients and nodes cannot connect, or some of their requests are answered with an error. The socket " +
        "function's log has the error, unless its metric Throttles shows that it was not started.",
    );
    this.alarm(
      "WebhookErrors",
      errorsOf(webhook),
      "Messages from Telegram and other channels are not getting in. The platforms deliver them again for a while, " +
        "then drop them. The webhook function's log has the error, unless its metric Throttles shows that it was not started.",
    );
  }

  /**
   * Tells the owner of an unusual number of invocations, and of a month that costs more than expected: by a
   * budget, which is free and knows forecasts, when there is an address, otherwise by an alarm on the estimated
   * charges, which CloudWatch has in us-east-1 only. Both are of the whole account.
   * @param monthlyBudget US dollars
   */
  watchSpending(monthlyBudget: number): void {
    this.alarm(
      "ManyInvocations",
      // One metric for all functions of the account and region: an alarm is paid by the metric.
      new Metric({
        namespace: "AWS/Lambda",
        metricName: "Invocations",
        period: Duration.minutes(5),
        statistic: "Sum",
      }),
      "The account's functions were invoked more than ten times a second for five minutes, which costs about $50 a " +
        "month if it goes on. Strangers may be calling the webhook or opening sockets, or a turn may be repeating itself.",
      manyInvocations,
    );
    if (this.alarmEmail === undefined) this.watchCharges(monthlyBudget);
    else this.createBudget(this.alarmEmail, monthlyBudget);
  }

  private watchCharges(monthlyBudget: number): void {
    const cost = this.alarm(
      "EstimatedCost",
      new Metric({
        namespace: "AWS/Billing",
        metricName: "EstimatedCharges",
        dimensionsMap: { Currency: "USD" },
        period: Duration.hours(6),
        statistic: "Maximum",
      }),
      `The account's charges of this month are above $${monthlyBudget}. Cost Explorer shows which service they are for.`,
      monthlyBudget,
    );
    const isBilledHere = new CfnCondition(this, "IsBilledHere", {
      expression: Fn.conditionEquals(Aws.REGION, "us-east-1"),
    });
    (cost.node.defaultChild as CfnAlarm).cfnOptions.condition = isBilledHere;
  }

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

  private alarm(id: string, metric: Metric | MathExpression, description: string, threshold = 0): Alarm {
    const alarm = metric.createAlarm(this, id, {
      alarmDescription: description,
      threshold,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      evaluationPeriods: 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    if (this.topic) alarm.addAlarmAction(new SnsAction(this.topic));
    return alarm;
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

/** The sum of failed and throttled invocations and of errors that the function logged and answered itself. */
function errorsOf({ lambda, log }: GatewayFunction): MathExpression {
  const period = Duration.minutes(5);
  const logged = log.addMetricFilter("Errors", {
    filterPattern: FilterPattern.stringValue("$.level", "=", "error"),
    metricNamespace: "gsv",
    metricName: `${lambda.functionName}-errors`,
  });
  return new MathExpression({
    expression: "SUM([failed, throttled, logged])",
    usingMetrics: {
      failed: lambda.metricErrors({ period, statistic: "Sum" }),
      throttled: lambda.metricThrottles({ period, statistic: "Sum" }),
      logged: logged.metric({ period, statistic: "Sum" }),
    },
    period,
  });
}
