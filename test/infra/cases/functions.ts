import { Match, type Template } from "aws-cdk-lib/assertions";
import { beforeAll, describe, expect, test } from "vitest";
import { functionNames } from "../../../infra/permissions.ts";
import { readEnvironment } from "../../../shared/runtime/environment.ts";
import { resolve, resourceNames } from "../references.ts";
import { stageApp, type TemplateJson, templateOf } from "../synthesis.ts";

/** The functions, their schedules, and the handling of failures. */
export function functionsCases(): void {
  let template: Template;
  let json: TemplateJson;

  beforeAll(() => {
    template = templateOf({ alarmEmail: "owner@example.com", logRetentionDays: "7" });
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
      ["openai", 256, 15 * minute],
      ["mcp", 512, 29],
      ["page", 256, 10],
    ])("%s runs Node 24 on arm64 with %i MB for %i s", (name, MemorySize, Timeout) => {
      template.hasResourceProperties("AWS::Lambda::Function", {
        FunctionName: `gsv-local-${name}`,
        Handler: "handler.handler",
        Runtime: "nodejs24.x",
        Architectures: ["arm64"],
        MemorySize,
        Timeout,
        ReservedConcurrentExecutions: Match.absent(),
      });
    });

    test("there are six, and each log group has a retention and is deleted with the stack", () => {
      template.resourceCountIs("AWS::Lambda::Function", functionNames.length);
      template.resourceCountIs("AWS::Logs::LogGroup", functionNames.length);
      for (const name of functionNames) {
        template.hasResource("AWS::Logs::LogGroup", {
          ...removed,
          Properties: { LogGroupName: `/aws/lambda/gsv-local-${name}`, RetentionInDays: 7 },
        });
      }
    });

    test("each gets exactly the environment that the code reads", () => {
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
          maxAgents: "7",
          ...(isSocket
            ? {
                webhookUrl: "https://webhook.example/",
                pageOrigins: "https://page.example",
                mcpUrl: "https://programs.example/mcp",
              }
            : {}),
        };
        expect(readEnvironment(variables)).toEqual(environment);
        expect(Object.values(variables)).toHaveLength(Object.values(environment).length);
      }
    });

    test("a stage has the log level, metrics and traces that it asks for, with their permissions only then", () => {
      const asked = templateOf({ logLevel: "WARN", metrics: "true", tracing: "true" });
      const sends = Match.objectLike({
        Action: ["xray:PutTraceSegments", "xray:PutTelemetryRecords"],
        Resource: "*",
      });
      const policies = (of: Template) =>
        Object.values(of.findResources("AWS::IAM::Role")).filter(({ Properties }) =>
          JSON.stringify(Properties.Policies ?? []).includes("xray:"),
        );
      for (const name of functionNames) {
        const metrics =
          name === "agent"
            ? { POWERTOOLS_METRICS_NAMESPACE: "gsv", POWERTOOLS_SERVICE_NAME: "local" }
            : { POWERTOOLS_METRICS_NAMESPACE: Match.absent() };
        asked.hasResourceProperties("AWS::Lambda::Function", {
          FunctionName: `gsv-local-${name}`,
          TracingConfig: { Mode: "Active" },
          Environment: { Variables: { POWERTOOLS_LOG_LEVEL: "WARN", ...metrics } },
        });
      }
      asked.hasResourceProperties("AWS::IAM::Role", {
        Policies: [{ PolicyDocument: { Statement: Match.arrayWith([sends]) } }],
      });
      expect(policies(asked)).toHaveLength(functionNames.length);
      expect(policies(template)).toHaveLength(0);
      template.hasResourceProperties("AWS::Lambda::Function", { TracingConfig: Match.absent() });
    });

    test.each([
      ["50", "47"],
      ["1000", undefined],
    ])("in an account of %s executions, %s agents may run at a time", (concurrentExecutions, maxAgents) => {
      const lambdas = templateOf({ concurrentExecutions }).findResources("AWS::Lambda::Function");
      const found = Object.values(lambdas).map(
        ({ Properties }) => Properties.Environment.Variables.MAX_AGENTS,
      );
      expect(new Set(found)).toEqual(new Set([maxAgents]));
    });

    test("only the agent may invoke itself more than 16 times, which a turn of hours needs", () => {
      const lambdas = Object.values(template.findResources("AWS::Lambda::Function"));
      const loops = lambdas.map(({ Properties }) => [Properties.FunctionName, Properties.RecursiveLoop]);
      expect(Object.fromEntries(loops)).toEqual({
        "gsv-local-socket": "Terminate",
        "gsv-local-webhook": "Terminate",
        "gsv-local-timer": "Terminate",
        "gsv-local-agent": "Allow",
        "gsv-local-openai": "Terminate",
        "gsv-local-mcp": "Terminate",
        "gsv-local-page": "Terminate",
      });
    });

    test("an event is given up after five minutes, and the agent's go to the dead-letter queue", () => {
      const retries = Object.values(template.findResources("AWS::Lambda::EventInvokeConfig"));
      const names = resourceNames(json);
      const queue = "arn:aws:sqs:us-east-1:000000000000:gsv-local-dead-letters";
      expect(retries.map(({ Properties }) => resolve(Properties, names))).toEqual(
        ["timer", "agent"].map((name) => ({
          FunctionName: `gsv-local-${name}`,
          Qualifier: "$LATEST",
          MaximumRetryAttempts: 2,
          MaximumEventAgeInSeconds: 300,
          ...(name === "agent" ? { DestinationConfig: { OnFailure: { Destination: queue } } } : {}),
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

    test("the group is deleted with the stack", () => {
      template.hasResource("AWS::Scheduler::ScheduleGroup", {
        ...removed,
        Properties: { Name: "gsv-local" },
      });
    });

    test.each([
      ["sweep", "rate(1 minute)"],
      ["watch", "rate(5 minutes)"],
    ])("the %s runs at its rate, is tried three times, and has no dead-letter queue", (name, rate) => {
      const all = Object.values(template.findResources("AWS::Scheduler::Schedule"));
      const found = all.find(({ Properties }) => Properties.Name === name);
      expect(resolve(found!.Properties, resourceNames(json))).toMatchObject({
        Name: name,
        GroupName: "gsv-local",
        ScheduleExpression: rate,
        FlexibleTimeWindow: { Mode: "OFF" },
        Target: {
          Arn: timer,
          RoleArn: "arn:aws:iam::000000000000:role/gsv-local-schedule",
          Input: `{"kind":"${name}"}`,
          RetryPolicy: { MaximumRetryAttempts: 2, MaximumEventAgeInSeconds: 60 },
        },
      });
      expect(found!.Properties.Target.DeadLetterConfig).toBeUndefined();
    });

    test("only EventBridge Scheduler, for this group in this account, can assume the role", () => {
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

    test("one alarm on one metric reports failing sweeps and watches, and none in ten minutes", () => {
      const [topic] = Object.keys(template.findResources("AWS::SNS::Topic"));
      const [timer] = Object.keys(
        template.findResources("AWS::Lambda::Function", { Properties: { FunctionName: "gsv-local-timer" } }),
      );
      template.resourceCountIs("AWS::CloudWatch::Alarm", 1);
      template.hasResourceProperties("AWS::CloudWatch::Alarm", {
        Namespace: "AWS/Lambda",
        MetricName: "Errors",
        Dimensions: [{ Name: "FunctionName", Value: { Ref: timer } }],
        Metrics: Match.absent(),
        Statistic: "Sum",
        Threshold: 0,
        ComparisonOperator: "GreaterThanThreshold",
        Period: 300,
        EvaluationPeriods: 2,
        TreatMissingData: "breaching",
        AlarmActions: [{ Ref: topic }],
      });
    });

    test("nothing else is created that CloudWatch bills monthly", () => {
      template.resourceCountIs("AWS::Logs::MetricFilter", 0);
      template.resourceCountIs("AWS::CloudWatch::CompositeAlarm", 0);
      template.resourceCountIs("AWS::CloudWatch::Dashboard", 0);
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

    test("without an address there is the alarm, and no topic", () => {
      const quiet = templateOf();
      quiet.resourceCountIs("AWS::CloudWatch::Alarm", 1);
      quiet.resourceCountIs("AWS::SNS::Topic", 0);
    });
  });
}
