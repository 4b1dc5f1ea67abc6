import { join } from "node:path";
import { ArnFormat, Names, type RemovalPolicy, Stack } from "aws-cdk-lib";
import type { ITable } from "aws-cdk-lib/aws-dynamodb";
import { Grant, type IGrantable } from "aws-cdk-lib/aws-iam";
import { FunctionUrlAuthType, type IFunction, InvokeMode } from "aws-cdk-lib/aws-lambda";
import type { IBucket } from "aws-cdk-lib/aws-s3";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import { StringParameter } from "aws-cdk-lib/aws-ssm";
import { Construct } from "constructs";
import { maxAgentsOf } from "../shared/runtime/max-agents.ts";
import { Failures } from "./constructs/failures.ts";
import { FunctionApi } from "./constructs/function-api.ts";
import type { GatewayFunction } from "./constructs/gateway-function.ts";
import { createFunctions } from "./constructs/gateway-functions.ts";
import { Schedules } from "./constructs/schedules.ts";
import { SocketApi } from "./constructs/socket-api.ts";
import { tagStage } from "./constructs/stage-tags.ts";
import { Storage } from "./constructs/storage.ts";
import { type Arns, type FunctionName, functionNames } from "./permissions.ts";
import { readSettings, type Settings } from "./stage-settings.ts";

/** Settings with defaults, described at `Settings`. */
type Limits = Pick<
  Settings,
  | "concurrentExecutions"
  | "connectsPerSecond"
  | "logLevel"
  | "logRetentionDays"
  | "messagesPerSecond"
  | "metrics"
  | "oldVersionDays"
  | "programsPerSecond"
  | "requireHeader"
  | "tracing"
  | "webhookConcurrency"
>;

export interface AgentGatewayProps extends Partial<Limits> {
  /** An existing table with the keys and indexes of `Storage`. Default: a new one. */
  table?: ITable;
  /** An existing bucket, which keeps its settings. Default: a new one. */
  bucket?: IBucket;
  /** Receives the gateway's one alarm. Default: only CloudWatch shows it. */
  alarmTopic?: ITopic;
  /** The model until the owner sets another. Default: Claude Sonnet 4.6 on Amazon Bedrock. */
  model?: { provider: string; id: string; baseUrl?: string };
  /**
   * Names the gateway in the account and region: its parameters and secrets are under `/gsv/{stage}`, its tags have it, and
   * the command line finds it with `--stage`. 1 to 20 lower-case letters, digits and hyphens. Default: made of the path.
   */
  stage?: string;
  /**
   * Functions, log groups and the schedule group are named `{namePrefix}-…`. Default: CloudFormation generates their names,
   * except of two functions, whose names are made of the path.
   */
  namePrefix?: string;
  /** What happens to a new table and bucket when the stack is deleted. Default: both are kept. */
  removalPolicy?: RemovalPolicy;
  /** Folder with one bundle per function. Default: the bundles of this package. */
  bundles?: string;
}

/** Addresses and names of a gateway, which its owner and the command line need. */
export interface PublishedValues {
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

/**
 * A personal AI agent with all its resources. Gateways share no resources, so a stack may have several.
 * @throws Error when a setting is wrong, or a bundle is missing
 */
export class AgentGateway extends Construct {
  /** Where clients and nodes connect: `wss://…/ws`. */
  readonly webSocketUrl: string;
  /** Where platforms send messages. It ends in a slash. */
  readonly webhookUrl: string;
  /** All state. */
  readonly table: ITable;
  /** All files. */
  readonly bucket: IBucket;
  readonly functions: Record<FunctionName, IFunction>;
  readonly stage: string;
  /** All values that are published as parameters `/gsv/{stage}/…`. */
  readonly published: PublishedValues;
  /** Base of the names that exist before their resources. */
  private readonly name: string;

  constructor(scope: Construct, id: string, props: AgentGatewayProps = {}) {
    super(scope, id);
    this.name = props.namePrefix ?? Names.uniqueResourceName(this, { maxLength: 50, separator: "-" });
    this.stage =
      props.stage ?? Names.uniqueResourceName(this, { maxLength: 20, separator: "-" }).toLowerCase();
    const settings = readSettings((key) => ({ ...(props as Partial<Settings>), stage: this.stage })[key]);
    tagStage(this, this.stage);
    this.node.addValidation({ validate: () => this.findNamesakes() });

    const storage = new Storage(this, "Storage", { ...props, oldVersionDays: settings.oldVersionDays });
    const failures = new Failures(this, "Failures");
    const socketApi = new SocketApi(this, "SocketApi", { ...settings, name: this.name });
    const schedules = new Schedules(this, "Schedules", {
      groupName: props.namePrefix,
      timerFunctionArn: this.functionArn("timer"),
      deadLettersArn: failures.deadLetters.queueArn,
    });
    const maxAgents = maxAgentsOf(settings.concurrentExecutions);
    const parts = { storage, failures, socketApi, schedules };
    const functions = createFunctions(this, {
      name: this.name,
      namePrefix: props.namePrefix,
      bundles: props.bundles ?? join(import.meta.dirname, "..", "dist", "functions"),
      settings,
      environment: {
        ...this.environment(parts),
        ...(settings.logLevel && { POWERTOOLS_LOG_LEVEL: settings.logLevel }),
        ...(maxAgents && { MAX_AGENTS: String(maxAgents) }),
        ...(props.model && { DEFAULT_MODEL: JSON.stringify(props.model) }),
      },
      arns: this.arns(parts),
    });

    if (settings.metrics) nameMetrics(functions.agent, this.stage);
    socketApi.routeTo(functions.socket.lambda);
    schedules.invokeRegularly(functions.timer.lambda);
    failures.watch(functions.timer.lambda, props.alarmTopic);
    const urls = openUrls(functions);
    const origins = this.openOrigins(functions, settings.programsPerSecond);
    storage.allowPage(origins.page);
    nameAddresses(functions.socket, urls.webhook, origins, settings);

    this.webSocketUrl = socketApi.url;
    this.webhookUrl = urls.webhook;
    this.table = storage.table;
    this.bucket = storage.bucket;
    this.functions = lambdasOf(functions);
    this.published = {
      WebSocketUrl: socketApi.url,
      WebhookUrl: urls.webhook,
      OpenaiUrl: `${urls.openai}v1`,
      PageUrl: origins.page,
      McpUrl: `${origins.mcp}/mcp`,
      TableName: storage.table.tableName,
      BucketName: storage.bucket.bucketName,
    };
    const prefix = `/gsv/${this.stage}`;
    const parameters = publish(this, prefix, this.published);
    if (props.namePrefix === undefined) publishLogs(parameters, prefix, functions);
  }

  /**
   * Lets code of your app connect as a client: it may read the address, `/gsv/{stage}/websocket-url`, and a token that you store
   * once as the SecureString `/gsv/{stage}/secrets/connect`.
   */
  grantConnect(grantee: IGrantable): Grant {
    const names = [parameterNames.WebSocketUrl, "secrets/connect"];
    return Grant.addToPrincipal({
      grantee,
      actions: ["ssm:GetParameter"],
      resourceArns: names.map((name) => `${this.parametersArn()}/${name}`),
    });
  }

  private environment({ storage, failures, socketApi, schedules }: Parts): Record<string, string> {
    return {
      TABLE_NAME: storage.table.tableName,
      BUCKET_NAME: storage.bucket.bucketName,
      AGENT_FUNCTION: `${this.name}-agent`,
      TIMER_FUNCTION_ARN: this.functionArn("timer"),
      SCHEDULE_GROUP: schedules.group.scheduleGroupName,
      SCHEDULE_ROLE_ARN: schedules.role.roleArn,
      DEAD_LETTER_ARN: failures.deadLetters.queueArn,
      SSM_PREFIX: `/gsv/${this.stage}`,
      WEBSOCKET_API_ENDPOINT: socketApi.callbackUrl,
    };
  }

  private arns({ storage, failures, socketApi, schedules }: Parts): Omit<Arns, "logGroup"> {
    const stack = Stack.of(this);
    const bedrock = (resource: string) => stack.formatArn({ service: "bedrock", resource });
    return {
      table: storage.table.tableArn,
      bucket: storage.bucket.bucketArn,
      webSocketStage: socketApi.stageArn,
      agentFunction: this.functionArn("agent"),
      schedules: stack.formatArn({
        service: "scheduler",
        resource: "schedule",
        resourceName: schedules.group.scheduleGroupName,
      }),
      scheduleRole: schedules.role.roleArn,
      parameters: this.parametersArn(),
      foundationModels: stack.formatArn({
        service: "bedrock",
        region: "*",
        account: "",
        resource: "foundation-model",
      }),
      inferenceProfiles: bedrock("inference-profile"),
      applicationProfiles: bedrock("application-inference-profile"),
      deadLetters: failures.deadLetters.queueArn,
    };
  }

  /** Opens an origin of its own for the console's page, and one for programs. They have no slash at the end. */
  private openOrigins(
    { page, mcp }: Record<FunctionName, GatewayFunction>,
    programsPerSecond: number,
  ): { page: string; mcp: string } {
    const open = {
      page: "The page's files are public. Who uses the gateway is checked at its WebSocket API.",
      mcp: "The function checks the token of each request, and answers 401 as programs expect it.",
    };
    const ofPage = {
      ...{ name: `${this.name}-page`, lambda: page.lambda, open: open.page },
      requestsPerSecond: 20,
    };
    const ofMcp = {
      ...{ name: `${this.name}-mcp`, lambda: mcp.lambda, open: open.mcp },
      requestsPerSecond: programsPerSecond,
    };
    return {
      page: new FunctionApi(this, "PageApi", ofPage).origin,
      mcp: new FunctionApi(this, "ProgramApi", ofMcp).origin,
    };
  }

  private functionArn(name: "agent" | "timer"): string {
    return Stack.of(this).formatArn({
      service: "lambda",
      resource: "function",
      resourceName: `${this.name}-${name}`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
  }

  private parametersArn(): string {
    return Stack.of(this).formatArn({ service: "ssm", resource: `parameter/gsv/${this.stage}` });
  }

  /** The errors about other gateways of the app that have this one's parameters, in the same account and region. */
  private findNamesakes(): string[] {
    const place = (of: Construct) => `${Stack.of(of).account} ${Stack.of(of).region}`;
    const isNamesake = (one: unknown) =>
      one instanceof AgentGateway && one.stage === this.stage && place(one) === place(this);
    const count = this.node.root.node.findAll().filter(isNamesake).length;
    return count < 2
      ? []
      : [`${count} gateways have the stage ${this.stage}; give each of them its own \`stage\``];
  }
}

interface Parts {
  storage: Storage;
  failures: Failures;
  socketApi: SocketApi;
  schedules: Schedules;
}

function lambdasOf(functions: Record<FunctionName, GatewayFunction>): Record<FunctionName, IFunction> {
  const lambdas = functionNames.map((name): [FunctionName, IFunction] => [name, functions[name].lambda]);
  return Object.fromEntries(lambdas) as Record<FunctionName, IFunction>;
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

/** The agent then writes its metrics, with the stage as their one dimension. */
function nameMetrics({ lambda }: GatewayFunction, stage: string): void {
  lambda.addEnvironment("POWERTOOLS_METRICS_NAMESPACE", "gsv");
  lambda.addEnvironment("POWERTOOLS_SERVICE_NAME", stage);
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

/** Publishes each value as an SSM parameter, `{prefix}/websocket-url` and so on. */
function publish(scope: Construct, prefix: string, values: PublishedValues): Construct {
  const parameters = new Construct(scope, "Parameters");
  for (const name of Object.keys(parameterNames) as (keyof PublishedValues)[])
    new StringParameter(parameters, name, {
      parameterName: `${prefix}/${parameterNames[name]}`,
      stringValue: values[name],
    });
  return parameters;
}

/** Publishes the generated names of the log groups for `gsv logs`, as `{function}={log group},…`. */
function publishLogs(
  scope: Construct,
  prefix: string,
  functions: Record<FunctionName, GatewayFunction>,
): void {
  const groups = functionNames.map((name) => `${name}=${functions[name].log.logGroupName}`);
  new StringParameter(scope, "LogGroups", {
    parameterName: `${prefix}/log-groups`,
    stringValue: groups.join(","),
  });
}
