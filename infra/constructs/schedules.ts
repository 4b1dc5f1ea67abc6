import { RemovalPolicy, Stack } from "aws-cdk-lib";
import { Effect, PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { CfnSchedule, ScheduleGroup } from "aws-cdk-lib/aws-scheduler";
import { Construct } from "constructs";

export interface SchedulesProps {
  /** Name of the group. Without it, the names of the group and of its schedules are generated. */
  groupName: string | undefined;
  timerFunctionArn: string;
  deadLettersArn: string;
}

/**
 * The schedule group, the role that EventBridge Scheduler assumes to invoke targets, and the recurring sweep and watch.
 */
export class Schedules extends Construct {
  readonly group: ScheduleGroup;
  readonly role: Role;
  private readonly props: SchedulesProps;

  constructor(scope: Construct, id: string, props: SchedulesProps) {
    super(scope, id);
    this.props = props;
    this.group = new ScheduleGroup(this, "Group", {
      scheduleGroupName: props.groupName,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.role = new Role(this, "Role", {
      description: "What EventBridge Scheduler may do for this stage's schedules",
      // Only schedules of this group may assume the role, not those of another group or account.
      assumedBy: new ServicePrincipal("scheduler.amazonaws.com", {
        conditions: {
          StringEquals: {
            "aws:SourceAccount": Stack.of(this).account,
            "aws:SourceArn": this.group.scheduleGroupArn,
          },
        },
      }),
      inlinePolicies: {
        permissions: new PolicyDocument({
          statements: [
            allow("lambda:InvokeFunction", props.timerFunctionArn),
            allow("sqs:SendMessage", props.deadLettersArn),
          ],
        }),
      },
    });
  }

  /**
   * Invokes the timer function every minute to resume overdue sessions that no function is processing, and every five
   * minutes to report faults.
   */
  invokeRegularly(timer: LambdaFunction): void {
    this.schedule(timer, "sweep", 1, "Resumes sessions with unfinished work");
    this.schedule(
      timer,
      "watch",
      5,
      "Fails after a function has recorded a fault, so that the alarm reports it",
    );
  }

  private schedule(timer: LambdaFunction, name: "sweep" | "watch", minutes: number, description: string) {
    const schedule = new CfnSchedule(this, name === "sweep" ? "Sweep" : "Watch", {
      // CloudFormation identifies a schedule by its name alone, although names of two groups may be equal.
      name: this.props.groupName && name,
      groupName: this.group.scheduleGroupName,
      description,
      scheduleExpression: `rate(${minutes} minute${minutes === 1 ? "" : "s"})`,
      flexibleTimeWindow: { mode: "OFF" },
      target: {
        arn: this.props.timerFunctionArn,
        roleArn: this.role.roleArn,
        input: JSON.stringify({ kind: name }),
        // Two retries for short failures of Lambda. The next event replaces a lost one, so there is no dead-letter queue. The
        // alarm reports when they stop.
        retryPolicy: { maximumEventAgeInSeconds: 60, maximumRetryAttempts: 2 },
      },
    });
    schedule.node.addDependency(timer);
  }
}

function allow(action: string, resource: string): PolicyStatement {
  return new PolicyStatement({ effect: Effect.ALLOW, actions: [action], resources: [resource] });
}
