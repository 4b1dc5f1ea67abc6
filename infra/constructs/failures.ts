import { Duration, Stack, Validations } from "aws-cdk-lib";
import { ComparisonOperator, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";

/**
 * The dead-letter queue for events that failed on every retry and for undeliverable schedules, and the alarm. It is one alarm
 * on one metric, because each metric of an alarm costs $0.10 per month.
 */
export class Failures extends Construct {
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string) {
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
  }

  /**
   * Adds the alarm. The timer function's metric Errors is above zero while sweeps or watches fail, and has no value while
   * neither runs. Watches fail for a quarter of an hour after any function has recorded a fault (`shared/runtime/faults.ts`).
   */
  watch(timer: LambdaFunction, topic: ITopic | undefined): void {
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
    if (topic === undefined) return;
    alarm.addAlarmAction(new SnsAction(topic));
    // A topic with an explicit policy loses the default policy, which lets the account's alarms publish.
    topic.grantPublish(
      new ServicePrincipal("cloudwatch.amazonaws.com", {
        conditions: { StringEquals: { "aws:SourceAccount": Stack.of(this).account } },
      }),
    );
  }
}
