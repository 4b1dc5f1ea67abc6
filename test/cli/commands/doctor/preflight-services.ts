import type { IncomingMessage, ServerResponse } from "node:http";
import { readBody, sendJson, serveLoopback } from "../../../../local/http/loopback.ts";
import type { ModelAvailability } from "../../../../shared/aws/account-state.ts";

/** An AWS account that is ready for a gateway, until a test changes it. */
export interface AccountState {
  account: string;
  regions: Record<string, string>;
  bootstrap: string | undefined;
  /** Status and reason by stack. */
  stacks: Record<string, { status: string; reason?: string }>;
  executions: number;
  profiles: string[];
  model: ModelAvailability;
  hasUseCase: boolean;
  /** Tokens of the offers of the model's terms. */
  offers: string[];
  /** The token of the accepted offer. */
  accepted?: string;
  quotas: { QuotaCode: string; QuotaName: string; Value: number }[];
  /** Error code of each refused call, by `service:Operation`. `*` refuses every call. */
  refused: Record<string, { status: number; code: string }>;
  /** The calls, as `service:Operation region`. */
  calls: string[];
}

const sonnet = "model inference tokens per minute for Anthropic Claude Sonnet";

export function goodAccount(): AccountState {
  return {
    account: "111122223333",
    regions: {
      "us-east-1": "ENABLED_BY_DEFAULT",
      "eu-central-1": "ENABLED_BY_DEFAULT",
      "eu-west-3": "ENABLED_BY_DEFAULT",
      "ap-east-1": "DISABLED",
    },
    bootstrap: "28",
    stacks: {},
    executions: 1000,
    profiles: ["global.anthropic.claude-sonnet-4-6", "us.anthropic.claude-sonnet-4-6"],
    model: {
      agreementAvailability: { status: "AVAILABLE" },
      authorizationStatus: "AUTHORIZED",
      entitlementAvailability: "AVAILABLE",
      regionAvailability: "AVAILABLE",
    },
    hasUseCase: true,
    offers: ["offer-1"],
    quotas: [
      { QuotaCode: "L-1", QuotaName: `Global cross-region ${sonnet} 4 V1`, Value: 7 },
      { QuotaCode: "L-2", QuotaName: `Global cross-region ${sonnet} 4.6`, Value: 5_000_000 },
      {
        QuotaCode: "L-3",
        QuotaName: `Global cross-region ${sonnet} 4.6 1M Context Length`,
        Value: 9_000_000,
      },
      { QuotaCode: "L-4", QuotaName: `Cross-region ${sonnet} 4.6`, Value: 8_000_000 },
    ],
    refused: {},
    calls: [],
  };
}

/** A server with the wire formats of the services that `preflight` asks. */
export async function startFakeAccount(
  state: AccountState,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = await serveLoopback(async (request, response) => {
    const body = String((await readBody(request, 1_000_000)) ?? "");
    if (!answerAccount(state, request, body, response)) response.writeHead(404).end();
  });
  return { url: server.origin, close: server.close };
}

/** Answers a call of `preflight`. @returns false for any other call */
export function answerAccount(
  state: AccountState,
  request: IncomingMessage,
  body: string,
  response: ServerResponse,
): boolean {
  const { authorization = "" } = request.headers;
  const scope = /^AWS4-HMAC-SHA256 Credential=[^/]+\/\d{8}\/([a-z0-9-]+)\/([a-z]+)\/aws4_request,/.exec(
    authorization,
  );
  const [, region = "", service = ""] = scope ?? [];
  const operation = operationOf(request, body);
  const answer = answers[`${service}:${operation}`];
  if (answer === undefined) return false;
  state.calls.push(`${service}:${operation} ${region}`);
  const isXml = service === "sts" || service === "cloudformation";
  const refusal = state.refused[`${service}:${operation}`] ?? state.refused["*"];
  const path = decodeURIComponent(request.url?.split("?")[0]?.split("/").at(-1) ?? "");
  const result = refusal ?? answer(state, { path, body });
  if (isXml) sendXml(response, result);
  else if (isRefusal(result)) {
    response.setHeader("x-amzn-errortype", `${result.code}:http://internal.amazon.com/coral/`);
    sendJson(response, result.status, { message: result.message ?? "not authorized to perform this" });
  } else sendJson(response, 200, result);
  return true;
}

interface Refusal {
  status: number;
  code: string;
  message?: string;
}

function isRefusal(result: object | string): result is Refusal {
  return typeof result === "object" && "code" in result;
}

function sendXml(response: ServerResponse, result: object | string): void {
  const { status, code, message }: Partial<Refusal> = isRefusal(result) ? result : {};
  const xml =
    code === undefined
      ? String(result)
      : `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message ?? "not authorized to perform this"}</Message></Error></ErrorResponse>`;
  response.writeHead(status ?? 200, { "content-type": "text/xml" }).end(xml);
}

const paths: readonly [RegExp, string][] = [
  [/^\/listRegions$/, "ListRegions"],
  [/^\/2016-08-19\/account-settings\/$/, "GetAccountSettings"],
  [/^\/inference-profiles\//, "GetInferenceProfile"],
  [/^\/foundation-model-availability\//, "GetFoundationModelAvailability"],
  [/^\/use-case-for-model-access$/, "GetUseCaseForModelAccess"],
  [/^\/list-foundation-model-agreement-offers\//, "ListFoundationModelAgreementOffers"],
  [/^\/create-foundation-model-agreement$/, "CreateFoundationModelAgreement"],
];

/** The operation of a call: of its target header, of its form, or of its path. */
function operationOf({ headers, url = "" }: IncomingMessage, body: string): string {
  const target = String(headers["x-amz-target"] ?? "").split(".")[1];
  const path = url.split("?")[0] ?? "";
  return (
    target ?? new URLSearchParams(body).get("Action") ?? paths.find(([one]) => one.test(path))?.[1] ?? ""
  );
}

type Answer = (state: AccountState, call: { path: string; body: string }) => object | string;

const absent: Refusal = { status: 404, code: "ResourceNotFoundException", message: "not found" };

const answers: Record<string, Answer> = {
  "tagging:GetResources": () => ({ ResourceTagMappingList: [], PaginationToken: "" }),
  "sts:GetCallerIdentity": ({ account }) =>
    `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:iam::${account}:user/deployer</Arn><UserId>AIDA</UserId><Account>${account}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`,
  "account:ListRegions": ({ regions }, { body }) =>
    page(
      "Regions",
      Object.entries(regions).map(([RegionName, RegionOptStatus]) => ({ RegionName, RegionOptStatus })),
      body,
    ),
  "ssm:GetParameter": ({ bootstrap }) =>
    bootstrap === undefined
      ? { status: 400, code: "ParameterNotFound" }
      : { Parameter: { Name: "/cdk-bootstrap/hnb659fds/version", Type: "String", Value: bootstrap } },
  "cloudformation:DescribeStacks": ({ stacks }, { body }) => {
    const name = new URLSearchParams(body).get("StackName") ?? "";
    const stack = stacks[name];
    const message = `Stack with id ${name} does not exist`;
    if (stack === undefined) return { status: 400, code: "ValidationError", message };
    const reason = stack.reason ? `<StackStatusReason>${stack.reason}</StackStatusReason>` : "";
    return `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>${name}</StackName><StackStatus>${stack.status}</StackStatus>${reason}</member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
  },
  "lambda:GetAccountSettings": ({ executions }) => ({
    AccountLimit: { ConcurrentExecutions: executions, UnreservedConcurrentExecutions: executions },
    AccountUsage: { FunctionCount: 3 },
  }),
  "bedrock:GetInferenceProfile": ({ profiles }, { path }) =>
    profiles.includes(path) ? { inferenceProfileId: path, status: "ACTIVE", type: "SYSTEM_DEFINED" } : absent,
  "bedrock:GetFoundationModelAvailability": ({ model }, { path }) =>
    path.startsWith("anthropic.") ? { modelId: path, ...model } : absent,
  "bedrock:GetUseCaseForModelAccess": ({ hasUseCase }) => (hasUseCase ? { formData: "e30=" } : absent),
  "bedrock:ListFoundationModelAgreementOffers": ({ offers }, { path }) => ({
    modelId: path,
    offers: offers.map((offerToken) => ({ offerId: "o", offerToken })),
  }),
  "bedrock:CreateFoundationModelAgreement": (state, { body }) => {
    const { modelId, offerToken } = JSON.parse(body) as { modelId: string; offerToken: string };
    state.accepted = `${modelId} ${offerToken}`;
    return { modelId };
  },
  "servicequotas:ListServiceQuotas": ({ quotas }, { body }) => page("Quotas", quotas, body),
};

/** One item per page, and an empty page before each. */
function page(key: string, items: readonly object[], body: string): object {
  const { NextToken = "0" } = JSON.parse(body) as { NextToken?: string };
  const at = Number(NextToken);
  const isEmpty = at % 2 === 0;
  const next = at + 1 < items.length * 2 ? { NextToken: String(at + 1) } : {};
  return { [key]: isEmpty ? [] : items.slice((at - 1) / 2, (at + 1) / 2), ...next };
}
