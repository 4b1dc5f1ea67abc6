/**
 * The environment of every function, read once at cold start. The stack and local mode set the same
 * variables.
 */
export interface Environment {
  tableName: string;
  bucketName: string;
  /** Name or ARN of the agent function. */
  agentFunction: string;
  timerFunctionArn: string;
  scheduleGroup: string;
  scheduleRoleArn: string;
  /** Queue for schedules that could not be delivered. */
  deadLetterArn: string;
  /** Parameter path without a trailing slash, e.g. `/gsv/dev`. */
  ssmPrefix: string;
  /** The WebSocket API's callback URL, `https://{api}.execute-api.{region}.amazonaws.com/{stage}`. */
  webSocketApiEndpoint: string;
  /**
   * The webhook function's URL, which ends in a slash. Only set for the socket function, which is deployed
   * after that URL exists.
   */
  webhookUrl?: string;
  /** How many agents may run at a time, a whole number. */
  maxAgents?: string;
  /** Any value: refuse sockets without an Authorization header. Only for the socket function. */
  requireHeader?: string;
  /** Origins of the web page, separated by commas. Only for the socket function. */
  pageOrigins?: string;
  /** The address for programs that use the agent through MCP. Only for the socket function. */
  mcpUrl?: string;
  /** JSON of the model until the owner sets another: `{ provider, id, baseUrl? }`. */
  defaultModel?: string;
  /** Namespace of CloudWatch metrics; absent when none are paid for. Only for the agent function. */
  metricsNamespace?: string;
}

const variables: Record<keyof Required<Environment>, string> = {
  tableName: "TABLE_NAME",
  bucketName: "BUCKET_NAME",
  agentFunction: "AGENT_FUNCTION",
  timerFunctionArn: "TIMER_FUNCTION_ARN",
  scheduleGroup: "SCHEDULE_GROUP",
  scheduleRoleArn: "SCHEDULE_ROLE_ARN",
  deadLetterArn: "DEAD_LETTER_ARN",
  ssmPrefix: "SSM_PREFIX",
  webSocketApiEndpoint: "WEBSOCKET_API_ENDPOINT",
  webhookUrl: "WEBHOOK_URL",
  maxAgents: "MAX_AGENTS",
  requireHeader: "REQUIRE_HEADER",
  pageOrigins: "PAGE_ORIGINS",
  mcpUrl: "MCP_URL",
  defaultModel: "DEFAULT_MODEL",
  metricsNamespace: "POWERTOOLS_METRICS_NAMESPACE",
};

const optional = new Set([
  variables.webhookUrl,
  variables.maxAgents,
  variables.requireHeader,
  variables.pageOrigins,
  variables.mcpUrl,
  variables.defaultModel,
  variables.metricsNamespace,
]);

/**
 * Reads and checks the environment.
 * @throws Error that names every missing variable at once.
 */
export function readEnvironment(source: Record<string, string | undefined> = process.env): Environment {
  const missing = Object.values(variables).filter((name) => !source[name] && !optional.has(name));
  if (missing.length > 0) throw new Error(`missing environment variables: ${missing.join(", ")}`);
  const set = Object.entries(variables).filter(([, variable]) => source[variable]);
  const entries = set.map(([field, variable]) => [field, source[variable]]);
  return Object.fromEntries(entries) as Environment;
}
