import { Duration, Stack, Validations } from "aws-cdk-lib";
import {
  ComparisonOperator,
  MathExpression,
  type Metric,
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

/**
 * The dead-letter queue for events that failed on every retry and for undeliverable schedules, and the alarms
 * that notify the owner.
 */
export class Failures extends Construct {
  readonly deadLetters: Queue;
  private readonly topic: Topic | undefined;

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

  private alarm(id: string, metric: Metric | MathExpression, description: string): void {
    const alarm = metric.createAlarm(this, id, {
      alarmDescription: description,
      threshold: 0,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      evaluationPeriods: 1,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    if (this.topic) alarm.addAlarmAction(new SnsAction(this.topic));
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
