import { ArnFormat, CfnOutput, Duration, Stack, type StackProps, Tags } from "aws-cdk-lib";
import { FunctionUrlAuthType, InvokeMode } from "aws-cdk-lib/aws-lambda";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import { Construct } from "constructs";
import { Failures } from "./constructs/failures.ts";
import { FunctionApi } from "./constructs/function-api.ts";
import { GatewayFunction } from "./constructs/gateway-function.ts";
import { Schedules } from "./constructs/schedules.ts";
import { SocketApi } from "./constructs/socket-api.ts";
import { Storage } from "./constructs/storage.ts";
import { type Arns, type FunctionName, functionNames } from "./permissions.ts";
import type { Settings } from "./stage-settings.ts";

/** Memory of the functions in MB. CPU is proportional: one core per 1,769 MB. */
export const memoryMegabytes: Record<FunctionName, number> = {
  socket: 256,
  // A cold start takes about 150 ms of CPU; Slack and Discord time out after 3 s.
  webhook: 512,
  timer: 256,
  agent: 512,
  openai: 256,
  page: 256,
  // A cold start reads the MCP SDK: programs wait for their list of tools.
  mcp: 512,
};

export interface GsvStackProps extends StackProps {
  settings: Settings;
  /** Folder with one bundle per function, the output of `npm run build`. */
  bundles: string;
}

interface Shape {
  description: string;
  timeout: Duration;
  /**
   * For a function that is invoked asynchronously: Lambda tries an event three times in three minutes, and gives it up at
   * this age. By then the sweep has found the same work, and the table has all facts of the event.
   */
  eventAge?: Duration;
  /** Whether the dead-letter queue keeps events that were given up. */
  keepsFailedEvents?: boolean;
  /** Whether it may invoke itself without end. */
  invokesItself?: boolean;
}

const shapes: Record<FunctionName, Shape> = {
  socket: {
    description: "Frames and connects of clients and nodes",
    // API Gateway waits 29 s for an integration.
    timeout: Duration.seconds(29),
  },
  webhook: {
    description: "Messages from channels",
    timeout: Duration.seconds(29),
  },
  timer: {
    description: "Timeouts and the sweep",
    timeout: Duration.seconds(60),
    eventAge: Duration.minutes(5),
    // A watch fails on purpose, and a sweep is repeated every minute.
    keepsFailedEvents: false,
  },
  agent: {
    description: "Turns of sessions",
    timeout: Duration.minutes(15),
    eventAge: Duration.minutes(5),
    keepsFailedEvents: true,
    invokesItself: true,
  },
  openai: {
    description: "Clients of OpenAI's API",
    // As long as a client listens to a turn. No event is retried.
    timeout: Duration.minutes(15),
  },
  mcp: {
    description: "Programs that use the agent through MCP",
    // API Gateway waits 29 s for an integration.
    timeout: Duration.seconds(29),
  },
  page: {
    description: "The console's page",
    timeout: Duration.seconds(10),
  },
};

/** All resources of one stage. Stages in one account and region share no resources. */
export class GsvStack extends Stack {
  constructor(scope: Construct, id: string, props: GsvStackProps) {
    super(scope, id, props);
    const { settings } = props;
    const name = `gsv-${settings.stage}`;
    const parameterPrefix = `/gsv/${settings.stage}`;
    Tags.of(this).add("application", "gsv");
    Tags.of(this).add("stage", settings.stage);

    const storage = new Storage(this, "Storage", settings);
    const failures = new Failures(this, "Failures", settings);
    const socketApi = new SocketApi(this, "SocketApi", { ...settings, name });
    const schedules = new Schedules(this, "Schedules", {
      groupName: name,
      timerFunctionArn: this.functionArn(`${name}-timer`),
      deadLettersArn: failures.deadLetters.queueArn,
    });

    const functions = this.createFunctions(props, {
      name,
      environment: {
        TABLE_NAME: storage.table.tableName,
        BUCKET_NAME: storage.bucket.bucketName,
        AGENT_FUNCTION: `${name}-agent`,
        TIMER_FUNCTION_ARN: this.functionArn(`${name}-timer`),
        SCHEDULE_GROUP: schedules.group.scheduleGroupName,
        SCHEDULE_ROLE_ARN: schedules.role.roleArn,
        DEAD_LETTER_ARN: failures.deadLetters.queueArn,
        SSM_PREFIX: parameterPrefix,
        WEBSOCKET_API_ENDPOINT: socketApi.callbackUrl,
      },
      arns: {
        table: storage.table.tableArn,
        bucket: storage.bucket.bucketArn,
        webSocketStage: socketApi.stageArn,
        agentFunction: this.functionArn(`${name}-agent`),
        schedules: this.formatArn({ service: "scheduler", resource: "schedule", resourceName: name }),
        scheduleRole: schedules.role.roleArn,
        parameters: this.formatArn({ service: "ssm", resource: `parameter${parameterPrefix}` }),
        foundationModels: this.formatArn({
          service: "bedrock",
          region: "*",
          account: "",
          resource: "foundation-model",
        }),
        inferenceProfiles: this.formatArn({ service: "bedrock", resource: "inference-profile" }),
        applicationProfiles: this.formatArn({
          service: "bedrock",
          resource: "application-inference-profile",
        }),
        deadLetters: failures.deadLetters.queueArn,
      },
    });

    socketApi.routeTo(functions.socket.lambda);
    schedules.invokeRegularly(functions.timer.lambda);
    failures.watch(functions.timer.lambda);
    const urls = openUrls(functions);
    const origins = this.openOrigins(functions, { name, programsPerSecond: settings.programsPerSecond });
    storage.allowPage(origins.page);
    nameAddresses(functions.socket, urls.webhook, origins, settings);
    publishValues(this, parameterPrefix, {
      WebSocketUrl: socketApi.url,
      WebhookUrl: urls.webhook,
      OpenaiUrl: `${urls.openai}v1`,
      PageUrl: origins.page,
      McpUrl: `${origins.mcp}/mcp`,
      TableName: storage.table.tableName,
      BucketName: storage.bucket.bucketName,
    });
  }

  private createFunctions(
    { settings, bundles }: GsvStackProps,
    shared: { name: string; environment: Record<string, string>; arns: Omit<Arns, "logGroup"> },
  ): Record<FunctionName, GatewayFunction> {
    const create = (name: FunctionName) => {
      const { eventAge, keepsFailedEvents, ...shape } = shapes[name];
      const failedEvents = keepsFailedEvents ? shared.arns.deadLetters : undefined;
      const functionName = `${shared.name}-${name}`;
      const created = new GatewayFunction(this, `${name[0]?.toUpperCase()}${name.slice(1)}`, {
        ...shape,
        memoryMegabytes: memoryMegabytes[name],
        name,
        functionName,
        bundles,
        environment: shared.environment,
        arns: shared.arns,
        logGroupArn: this.formatArn({
          service: "logs",
          resource: "log-group",
          resourceName: `/aws/lambda/${functionName}`,
          arnFormat: ArnFormat.COLON_RESOURCE_NAME,
        }),
        logRetentionDays: settings.logRetentionDays,
        reservedConcurrency: name === "webhook" ? settings.webhookConcurrency : undefined,
        asynchronous: eventAge && { eventAge, failedEvents },
      });
      return [name, created] as const;
    };
    return Object.fromEntries(functionNames.map(create)) as Record<FunctionName, GatewayFunction>;
  }

  /** Opens an origin of its own for the console's page, and one for programs. They have no slash at the end. */
  private openOrigins(
    { page, mcp }: Record<FunctionName, GatewayFunction>,
    { name, programsPerSecond }: { name: string; programsPerSecond: number },
  ): { page: string; mcp: string } {
    const open = {
      page: "The page's files are public. Who uses the gateway is checked at its WebSocket API.",
      mcp: "The function checks the token of each request, and answers 401 as programs expect it.",
    };
    const ofPage = { name: `${name}-page`, lambda: page.lambda, requestsPerSecond: 20, open: open.page };
    const ofMcp = {
      ...{ name: `${name}-mcp`, lambda: mcp.lambda, open: open.mcp },
      requestsPerSecond: programsPerSecond,
    };
    return {
      page: new FunctionApi(this, "PageApi", ofPage).origin,
      mcp: new FunctionApi(this, "ProgramApi", ofMcp).origin,
    };
  }

  private functionArn(functionName: string): string {
    return this.formatArn({
      service: "lambda",
      resource: "function",
      resourceName: functionName,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
  }
}

/** Sets the variables of the socket function whose values exist only after it. */
function nameAddresses(
  { lambda }: GatewayFunction,
  webhookUrl: string,
  origins: { page: string; mcp: string },
  { requireHeader }: Settings,
): void {
  lambda.addEnvironment("WEBHOOK_URL", webhookUrl);
  lambda.addEnvironment("PAGE_ORIGINS", origins.page);
  lambda.addEnvironment("MCP_URL", `${origins.mcp}/mcp`);
  if (requireHeader) lambda.addEnvironment("REQUIRE_HEADER", "true");
}

/** Opens the URLs of the functions that answer HTTP. They end in a slash. Each function checks its callers itself. */
function openUrls(functions: Record<FunctionName, GatewayFunction>): { webhook: string; openai: string } {
  const authType = FunctionUrlAuthType.NONE;
  const invokeMode = InvokeMode.RESPONSE_STREAM;
  return {
    webhook: functions.webhook.lambda.addFunctionUrl({ authType }).url,
    openai: functions.openai.lambda.addFunctionUrl({ authType, invokeMode }).url,
  };
}

/** Addresses and names of a deployed stage, which its owner and the command line need. */
interface PublishedValues {
  WebSocketUrl: string;
  WebhookUrl: string;
  /** The base address for clients of OpenAI's API. */
  OpenaiUrl: string;
  /** The console's page. */
  PageUrl: string;
  /** The address for programs that use the agent through MCP. */
  McpUrl: string;
  TableName: string;
  BucketName: string;
}

const parameterNames: Record<keyof PublishedValues, string> = {
  WebSocketUrl: "websocket-url",
  WebhookUrl: "webhook-url",
  OpenaiUrl: "openai-url",
  PageUrl: "page-url",
  McpUrl: "mcp-url",
  TableName: "table-name",
  BucketName: "bucket-name",
};

/** Publishes each value twice: as a stack output, and as an SSM parameter `{prefix}/websocket-url` and so on. */
function publishValues(scope: Construct, prefix: string, values: PublishedValues): void {
  const parameters = new Construct(scope, "Parameters");
  for (const name of Object.keys(parameterNames) as (keyof PublishedValues)[]) {
    new StringParameter(parameters, name, {
      parameterName: `${prefix}/${parameterNames[name]}`,
      stringValue: values[name],
    });
    new CfnOutput(scope, name, { value: values[name] });
  }
}
