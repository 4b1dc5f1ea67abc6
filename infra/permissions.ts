/**
 * All permissions of all functions. A function may do nothing without a row here. Add a row together with the call that
 * needs it.
 */

export const functionNames = ["socket", "webhook", "timer", "agent", "openai", "mcp", "page"] as const;
export type FunctionName = (typeof functionNames)[number];

/** Base ARNs of the resources below. In the stack they are CDK tokens. */
export interface Arns {
  table: string;
  bucket: string;
  /** `arn:…:execute-api:{region}:{account}:{apiId}/{stage}` */
  webSocketStage: string;
  agentFunction: string;
  /** `arn:…:scheduler:{region}:{account}:schedule/{group}`; the schedule's name is appended */
  schedules: string;
  scheduleRole: string;
  /** `arn:…:ssm:{region}:{account}:parameter{SSM_PREFIX}` */
  parameters: string;
  /** `arn:…:bedrock:*::foundation-model`: an inference profile may use a model in another region */
  foundationModels: string;
  /** `arn:…:bedrock:{region}:{account}:inference-profile` */
  inferenceProfiles: string;
  /** `arn:…:bedrock:{region}:{account}:application-inference-profile`: profiles that the owner created to tag costs */
  applicationProfiles: string;
  deadLetters: string;
  /** The function's own log group. */
  logGroup: string;
}

interface Resource {
  arn(arns: Arns): string;
  /** Reason for the wildcard, when the ARN ends in one. */
  wildcard?: string;
}

const madeAtRunTime = "the names under this prefix are made at run time";

export const resources = {
  table: { arn: ({ table }) => table },
  listIndex: { arn: ({ table }) => `${table}/index/list` },
  dueIndex: { arn: ({ table }) => `${table}/index/due` },
  bucket: { arn: ({ bucket }) => bucket },
  agentObjects: { arn: ({ bucket }) => `${bucket}/agents/*`, wildcard: madeAtRunTime },
  mediaObjects: { arn: ({ bucket }) => `${bucket}/media/*`, wildcard: madeAtRunTime },
  payloadObjects: { arn: ({ bucket }) => `${bucket}/payloads/*`, wildcard: madeAtRunTime },
  skillObjects: { arn: ({ bucket }) => `${bucket}/skills/*`, wildcard: madeAtRunTime },
  postToConnection: {
    arn: ({ webSocketStage }) => `${webSocketStage}/POST/@connections/*`,
    wildcard: "API Gateway makes a connection's id when it is opened",
  },
  closeConnection: {
    arn: ({ webSocketStage }) => `${webSocketStage}/DELETE/@connections/*`,
    wildcard: "API Gateway makes a connection's id when it is opened",
  },
  agentFunction: { arn: ({ agentFunction }) => agentFunction },
  schedules: { arn: ({ schedules }) => `${schedules}/*`, wildcard: madeAtRunTime },
  scheduleRole: { arn: ({ scheduleRole }) => scheduleRole },
  secrets: { arn: ({ parameters }) => `${parameters}/secrets/*`, wildcard: madeAtRunTime },
  mcpSecrets: {
    arn: ({ parameters }) => `${parameters}/secrets/mcp/*`,
    wildcard: "the user adds servers at run time",
  },
  channelSecrets: {
    arn: ({ parameters }) => `${parameters}/secrets/channels/*`,
    wildcard: "the user adds accounts at run time",
  },
  foundationModels: {
    arn: ({ foundationModels }) => `${foundationModels}/*`,
    wildcard: "the user chooses the model at run time, and a profile chooses its region",
  },
  inferenceProfiles: {
    arn: ({ inferenceProfiles }) => `${inferenceProfiles}/*`,
    wildcard: "the user chooses the model at run time",
  },
  applicationProfiles: {
    arn: ({ applicationProfiles }) => `${applicationProfiles}/*`,
    wildcard: "the user chooses the model at run time",
  },
  deadLetters: { arn: ({ deadLetters }) => deadLetters },
  ownLog: { arn: ({ logGroup }) => `${logGroup}:*`, wildcard: "Lambda makes a log stream for each instance" },
  traces: { arn: () => "*", wildcard: "X-Ray has no resources for the traces that are sent to it" },
} satisfies Record<string, Resource>;

export type ResourceName = keyof typeof resources;

export interface Grant {
  resource: ResourceName;
  actions: readonly string[];
  /** IAM condition: operator, condition key, values. */
  when?: Record<string, Record<string, string | readonly string[]>>;
  /** The Lambda service makes this call with the function's role, not the function's code. */
  usedBy?: "Lambda";
}

const ownLog: Grant = {
  resource: "ownLog",
  actions: ["logs:CreateLogStream", "logs:PutLogEvents"],
  usedBy: "Lambda",
};
const failedInvocations: Grant = { resource: "deadLetters", actions: ["sqs:SendMessage"], usedBy: "Lambda" };

/** Of every function while the stage has `tracing`. */
export const traces: Grant = {
  resource: "traces",
  actions: ["xray:PutTraceSegments", "xray:PutTelemetryRecords"],
  usedBy: "Lambda",
};

const wakeAgent: Grant = { resource: "agentFunction", actions: ["lambda:InvokeFunction"] };
const createSchedule: readonly Grant[] = [
  { resource: "schedules", actions: ["scheduler:CreateSchedule"] },
  {
    resource: "scheduleRole",
    actions: ["iam:PassRole"],
    when: { StringEquals: { "iam:PassedToService": "scheduler.amazonaws.com" } },
  },
];

/** Reading a missing key needs it too: without it S3 answers 403 instead of 404. */
const listBucket: Grant = { resource: "bucket", actions: ["s3:ListBucket"] };

const readWriteDelete = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"];
/** All actions of functions on the table. */
const wholeTable: Grant = {
  resource: "table",
  actions: [
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:Query",
  ],
};
/**
 * A condition on the partition keys of items. Only for actions that name a key: for a request without one, IAM regards
 * `ForAllValues` as true.
 */
const partitions = (...keys: string[]): Grant["when"] => ({
  "ForAllValues:StringLike": { "dynamodb:LeadingKeys": keys },
});
/** The partitions in which messages of platforms are received: sessions, receipts, sent texts, pairing requests, activity, faults, slots. */
const inbound = ["S#*", "RX#*", "TX#*", "SAID#*", "PAIR", "ACTIVE#*", "CHANNEL", "FAULT", "SLOTS"];
const requests = "AP#*";
const manageConnections = ["execute-api:ManageConnections"];

export const grants: Record<FunctionName, readonly Grant[]> = {
  socket: [
    wholeTable,
    { resource: "listIndex", actions: ["dynamodb:Query"] },
    // After a node has disconnected: the sessions that may wait for it.
    { resource: "dueIndex", actions: ["dynamodb:Query", "dynamodb:Scan"] },
    // A transfer into a workspace is a multipart upload, which is aborted on failure.
    { resource: "agentObjects", actions: [...readWriteDelete, "s3:AbortMultipartUpload"] },
    // A deleted session loses its media.
    { resource: "mediaObjects", actions: readWriteDelete },
    // Peers read and write payloads through presigned URLs of this role.
    { resource: "payloadObjects", actions: readWriteDelete },
    { resource: "skillObjects", actions: ["s3:GetObject"] },
    listBucket,
    { resource: "postToConnection", actions: manageConnections },
    { resource: "closeConnection", actions: manageConnections },
    wakeAgent,
    ...createSchedule,
    { resource: "secrets", actions: ["ssm:GetParameter", "ssm:PutParameter", "ssm:DeleteParameter"] },
    ownLog,
  ],
  webhook: [
    // Anybody can call this function: it reaches neither tokens nor jobs, and cannot change the configuration.
    { resource: "table", actions: ["dynamodb:GetItem"], when: partitions("CONFIG", requests, ...inbound) },
    { resource: "table", actions: ["dynamodb:PutItem"], when: partitions(...inbound) },
    // The owner presses a button under a request for approval, or returns from a login at an MCP server.
    {
      resource: "table",
      actions: ["dynamodb:UpdateItem"],
      when: partitions(requests, "MCPLOGIN", ...inbound),
    },
    wakeAgent,
    { resource: "channelSecrets", actions: ["ssm:GetParameter"] },
    ownLog,
  ],
  timer: [
    wholeTable,
    // During an upgrade, the newest session tells whether another release is in use.
    { resource: "listIndex", actions: ["dynamodb:Query"] },
    { resource: "dueIndex", actions: ["dynamodb:Query", "dynamodb:Scan"] },
    { resource: "postToConnection", actions: manageConnections },
    // A heartbeat reads HEARTBEAT.md before it asks the model. A memory sweep writes MEMORY.md, DREAMS.md and the workspace
    // history, and removes memories from all files that were forgotten meanwhile.
    { resource: "agentObjects", actions: ["s3:GetObject", "s3:PutObject"] },
    listBucket,
    { resource: "closeConnection", actions: manageConnections },
    wakeAgent,
    ...createSchedule,
    ownLog,
  ],
  agent: [
    wholeTable,
    { resource: "listIndex", actions: ["dynamodb:Query"] },
    // Large archives are multipart uploads, which are aborted on failure.
    { resource: "agentObjects", actions: [...readWriteDelete, "s3:AbortMultipartUpload"] },
    { resource: "mediaObjects", actions: readWriteDelete },
    // A transfer that ends at once deletes its parts.
    { resource: "payloadObjects", actions: readWriteDelete },
    { resource: "skillObjects", actions: ["s3:GetObject"] },
    listBucket,
    { resource: "postToConnection", actions: manageConnections },
    wakeAgent,
    ...createSchedule,
    { resource: "secrets", actions: ["ssm:GetParameter"] },
    // A token of an MCP server is replaced when it expires.
    { resource: "mcpSecrets", actions: ["ssm:PutParameter"] },
    { resource: "foundationModels", actions: ["bedrock:InvokeModelWithResponseStream"] },
    { resource: "inferenceProfiles", actions: ["bedrock:InvokeModelWithResponseStream"] },
    { resource: "applicationProfiles", actions: ["bedrock:InvokeModelWithResponseStream"] },
    failedInvocations,
    ownLog,
  ],
  openai: [
    // It connects to the WebSocket API with the token of its caller, which decides what the caller may do.
    { resource: "table", actions: ["dynamodb:UpdateItem"], when: partitions("FAULT") },
    ownLog,
  ],
  mcp: [
    // As above. It checks tokens itself. The only tokens that it makes are those of programs, whose scopes are bounded.
    { resource: "table", actions: ["dynamodb:GetItem"], when: partitions("TOKEN", "GRANT", "OAUTH") },
    { resource: "table", actions: ["dynamodb:PutItem"], when: partitions("GRANT", "OAUTH") },
    { resource: "table", actions: ["dynamodb:UpdateItem"], when: partitions("GRANT", "OAUTH", "FAULT") },
    { resource: "table", actions: ["dynamodb:DeleteItem"], when: partitions("OAUTH") },
    ownLog,
  ],
  // It serves files of its own bundle.
  page: [ownLog],
};
