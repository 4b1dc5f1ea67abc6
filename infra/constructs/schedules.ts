import { RemovalPolicy, Stack } from "aws-cdk-lib";
import { Effect, PolicyDocument, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { CfnSchedule, ScheduleGroup } from "aws-cdk-lib/aws-scheduler";
import { Construct } from "constructs";

export interface SchedulesProps {
  groupName: string;
  timerFunctionArn: string;
  deadLettersArn: string;
}

/** The group of all schedules, the role that EventBridge Scheduler takes to fire them, and the recurring sweep. */
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
      // Only for schedules of this group: another account's or group's cannot borrow the role.
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

  /** Wakes, every minute, whatever is overdue and has nobody working on it. */
  sweepWith(timer: LambdaFunction): void {
    const sweep = new CfnSchedule(this, "Sweep", {
      name: "sweep",
      groupName: this.group.scheduleGroupName,
      description: "Finds sessions that were left with something to do",
      scheduleExpression: "rate(1 minute)",
      flexibleTimeWindow: { mode: "OFF" },
      target: {
        arn: this.props.timerFunctionArn,
        roleArn: this.role.roleArn,
        input: JSON.stringify({ kind: "sweep" }),
        // The next one comes in a minute and finds the same: a late delivery has no worth.
        retryPolicy: { maximumEventAgeInSeconds: 60, maximumRetryAttempts: 0 },
        deadLetterConfig: { arn: this.props.deadLettersArn },
      },
    });
    sweep.node.addDependency(timer);
  }
}

function allow(action: string, resource: string): PolicyStatement {
  return new PolicyStatement({ effect: Effect.ALLOW, actions: [action], resources: [resource] });
}
