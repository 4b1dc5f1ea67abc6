import { Match, Template } from "aws-cdk-lib/assertions";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { functionNames } from "../../infra/permissions.ts";
import { readEnvironment } from "../../shared/runtime/environment.ts";
import { logError } from "../../shared/runtime/log.ts";
import { resolve, resourceNames } from "./references.ts";
import { stageApp, type TemplateJson } from "./synthesis.ts";

let template: Template;
let json: TemplateJson;

beforeAll(() => {
  const { stack } = stageApp({ stage: "local", alarmEmail: "owner@example.com", logRetentionDays: "7" });
  template = Template.fromStack(stack);
  json = template.toJSON() as TemplateJson;
});

const removed = { DeletionPolicy: "Delete", UpdateReplacePolicy: "Delete" };

describe("functions", () => {
  const minute = 60;
  test.each([
    ["socket", 256, 29],
    ["webhook", 512, 29],
    ["timer", 256, minute],
    ["agent", 512, 15 * minute],
  ])("%s runs Node 24 on arm64 with %i MB for %i s", (name, MemorySize, Timeout) => {
    template.hasResourceProperties("AWS::Lambda::Function", {
      FunctionName: `gsv-local-${name}`,
      Handler: "handler.handler",
      Runtime: "nodejs24.x",
      Architectures: ["arm64"],
      MemorySize,
      Timeout,
      RecursiveLoop: "Terminate",
      ReservedConcurrentExecutions: Match.absent(),
    });
  });

  test("there are four, and each log group has a retention and goes with the stack", () => {
    template.resourceCountIs("AWS::Lambda::Function", functionNames.length);
    template.resourceCountIs("AWS::Logs::LogGroup", functionNames.length);
    for (const name of functionNames) {
      template.hasResource("AWS::Logs::LogGroup", {
        ...removed,
        Properties: { LogGroupName: `/aws/lambda/gsv-local-${name}`, RetentionInDays: 7 },
      });
    }
  });

  test("each is given the environment that the code reads, and nothing besides", () => {
    const names = resourceNames(json);
    const lambdas = Object.values(template.findResources("AWS::Lambda::Function"));
    for (const { Properties } of lambdas) {
      const variables = resolve(Properties.Environment.Variables, names) as Record<string, string>;
      const isSocket = Properties.FunctionName === "gsv-local-socket";
      const environment = {
        tableName: "gsv-local",
        bucketName: "gsv-storage",
        agentFunction: "gsv-local-agent",
        timerFunctionArn: "arn:aws:lambda:us-east-1:000000000000:function:gsv-local-timer",
        scheduleGroup: "gsv-local",
        scheduleRoleArn: "arn:aws:iam::000000000000:role/gsv-local-schedule",
        deadLetterArn: "arn:aws:sqs:us-east-1:000000000000:gsv-local-dead-letters",
        ssmPrefix: "/gsv/local",
        webSocketApiEndpoint: "https://local.execute-api.us-east-1.amazonaws.com/ws",
        ...(isSocket ? { webhookUrl: "https://webhook.example/" } : {}),
      };
      expect(readEnvironment(variables)).toEqual(environment);
      expect(Object.values(variables)).toHaveLength(Object.values(environment).length);
    }
  });

  test("events that fail on every retry go to the dead-letter queue", () => {
    const retries = Object.values(template.findResources("AWS::Lambda::EventInvokeConfig"));
    const names = resourceNames(json);
    expect(retries.map(({ Properties }) => resolve(Properties, names))).toEqual(
      ["timer", "agent"].map((name) => ({
        FunctionName: `gsv-local-${name}`,
        Qualifier: "$LATEST",
        MaximumRetryAttempts: 2,
        DestinationConfig: {
          OnFailure: { Destination: "arn:aws:sqs:us-east-1:000000000000:gsv-local-dead-letters" },
        },
      })),
    );
  });

  test("a missing bundle says what to run", () => {
    expect(() => stageApp({}, { bundles: "/nonexistent" })).toThrow('run "npm run build" first');
  });
});

describe("schedules", () => {
  const timer = "arn:aws:lambda:us-east-1:000000000000:function:gsv-local-timer";
  const deadLetters = "arn:aws:sqs:us-east-1:000000000000:gsv-local-dead-letters";
  const schedulerRole = () =>
    Object.values(template.findResources("AWS::IAM::Role")).find(({ Properties }) =>
      JSON.stringify(Properties.AssumeRolePolicyDocument).includes("scheduler.amazonaws.com"),
    )!.Properties;

  test("the group goes with the stack", () => {
    template.hasResource("AWS::Scheduler::ScheduleGroup", { ...removed, Properties: { Name: "gsv-local" } });
  });

  test("the sweep runs every minute, with what the timer function expects", () => {
    const [sweep] = Object.values(template.findResources("AWS::Scheduler::Schedule"));
    expect(resolve(sweep!.Properties, resourceNames(json))).toMatchObject({
      Name: "sweep",
      GroupName: "gsv-local",
      ScheduleExpression: "rate(1 minute)",
      FlexibleTimeWindow: { Mode: "OFF" },
      Target: {
        Arn: timer,
        RoleArn: "arn:aws:iam::000000000000:role/gsv-local-schedule",
        Input: '{"kind":"sweep"}',
        DeadLetterConfig: { Arn: deadLetters },
      },
    });
  });

  test("only EventBridge Scheduler, for this group in this account, can take the role", () => {
    const [group] = Object.keys(template.findResources("AWS::Scheduler::ScheduleGroup"));
    expect(schedulerRole().AssumeRolePolicyDocument.Statement).toEqual([
      {
        Effect: "Allow",
        Action: "sts:AssumeRole",
        Principal: { Service: "scheduler.amazonaws.com" },
        Condition: {
          StringEquals: {
            "aws:SourceAccount": { Ref: "AWS::AccountId" },
            "aws:SourceArn": { "Fn::GetAtt": [group, "Arn"] },
          },
        },
      },
    ]);
  });

  test("the role may invoke the timer function and send to the dead-letter queue, and nothing else", () => {
    const policies = resolve(schedulerRole().Policies, resourceNames(json)) as {
      PolicyDocument: { Statement: object[] };
    }[];
    expect(policies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement)).toEqual([
      { Effect: "Allow", Action: "lambda:InvokeFunction", Resource: timer },
      { Effect: "Allow", Action: "sqs:SendMessage", Resource: deadLetters },
    ]);
  });
});

describe("failures", () => {
  test("the dead-letter queue is encrypted and keeps a message as long as SQS can", () => {
    template.hasResourceProperties("AWS::SQS::Queue", {
      SqsManagedSseEnabled: true,
      MessageRetentionPeriod: 14 * 24 * 3600,
    });
  });

  const alarm = (AlarmDescription: string, metric: object) => {
    const topic = Object.keys(template.findResources("AWS::SNS::Topic"))[0];
    template.hasResourceProperties("AWS::CloudWatch::Alarm", {
      AlarmDescription: Match.stringLikeRegexp(AlarmDescription),
      Threshold: 0,
      ComparisonOperator: "GreaterThanThreshold",
      TreatMissingData: "notBreaching",
      AlarmActions: [{ Ref: topic }],
      ...metric,
    });
  };

  test("a message in the dead-letter queue is mailed, with what it means for the user", () => {
    alarm("Someone may be waiting for an answer", {
      Namespace: "AWS/SQS",
      MetricName: "ApproximateNumberOfMessagesVisible",
      Statistic: "Maximum",
    });
  });

  test.each([
    ["socket", "Clients and nodes cannot connect"],
    ["webhook", "Messages from Telegram and other channels are not getting in"],
  ])(
    "errors of the %s function are mailed, those it answered itself and what was not begun too",
    (name, description) => {
      const [id] = Object.keys(
        template.findResources("AWS::Lambda::Function", {
          Properties: { FunctionName: `gsv-local-${name}` },
        }),
      );
      const logged = { MetricName: { "Fn::Join": ["", [{ Ref: id }, "-errors"]] } };
      template.hasResourceProperties("AWS::Logs::MetricFilter", {
        LogGroupName: { Ref: Match.stringLikeRegexp(`^${name[0]!.toUpperCase()}${name.slice(1)}Log`) },
        FilterPattern: '{ $.level = "error" }',
        MetricTransformations: [{ ...logged, MetricNamespace: "gsv", MetricValue: "1" }],
      });
      const metric = (Id: string, Metric: object) =>
        Match.objectLike({ Id, MetricStat: { Metric, Stat: "Sum" } });
      const failed = { MetricName: "Errors", Dimensions: [{ Name: "FunctionName", Value: { Ref: id } }] };
      alarm(description, {
        Metrics: Match.arrayWith([
          Match.objectLike({ Expression: "SUM([failed, throttled, logged])" }),
          metric("failed", Match.objectLike(failed)),
          metric("throttled", Match.objectLike({ ...failed, MetricName: "Throttles" })),
          metric("logged", Match.objectLike(logged)),
        ]),
      });
    },
  );

  test("an unexpected error is logged as the filter reads it", () => {
    const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    logError("rpc.failed", new Error("broken"));
    const [[line] = []] = write.mock.calls;
    write.mockRestore();
    expect(JSON.parse(String(line))).toMatchObject({ level: "error" });
  });

  test("the alarms of this account may publish to the topic, which is mailed to the owner", () => {
    template.hasResourceProperties("AWS::SNS::Subscription", {
      Protocol: "email",
      Endpoint: "owner@example.com",
    });
    template.hasResourceProperties("AWS::SNS::TopicPolicy", {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Effect: "Allow",
            Action: "sns:Publish",
            Principal: { Service: "cloudwatch.amazonaws.com" },
            Condition: { StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } },
          }),
        ]),
      },
    });
  });

  test("without an address there are alarms and no topic", () => {
    const quiet = Template.fromStack(stageApp({ stage: "local" }).stack);
    quiet.resourceCountIs("AWS::CloudWatch::Alarm", 5);
    quiet.resourceCountIs("AWS::SNS::Topic", 0);
  });
});
