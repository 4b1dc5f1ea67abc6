import { SSMClient } from "@aws-sdk/client-ssm";
import {
  ApiError,
  type ApiRequest,
  formRequest,
  openSigned,
  rpcRequest,
  type SendSigned,
  xmlValue,
} from "./signed-request.ts";
import { describeStack } from "./stage-stack.ts";

/** A CloudFormation stack's status, and the reason that CloudFormation gives for it. */
export interface StackStatus {
  status: string;
  reason?: string;
}

/** What GetFoundationModelAvailability tells about a model. */
export interface ModelAvailability {
  agreementAvailability: {
    status: "AVAILABLE" | "PENDING" | "NOT_AVAILABLE" | "ERROR";
    errorMessage?: string;
  };
  authorizationStatus: "AUTHORIZED" | "NOT_AUTHORIZED";
  entitlementAvailability: "AVAILABLE" | "NOT_AVAILABLE";
  regionAvailability: "AVAILABLE" | "NOT_AVAILABLE";
}

/** A quota of an AWS service, as applied to this account. */
export interface Quota {
  QuotaCode: string;
  QuotaName: string;
  Value: number;
}

/**
 * Reads what a deployment needs of an AWS account in one region. `undefined`: there is no such thing. Every method rejects
 * when AWS refuses the call, with an error whose `name` is AWS's code.
 */
export interface Account {
  identity(): Promise<{ account: string; arn: string }>;
  /** Every region of the account and its status, e.g. `ENABLED_BY_DEFAULT` or `DISABLED`. */
  regions(): Promise<Map<string, string>>;
  /** The version of the CDK's bootstrap stack. */
  bootstrapVersion(): Promise<number | undefined>;
  stack(name: string): Promise<StackStatus | undefined>;
  /** The maximum number of functions that run concurrently. */
  concurrentExecutions(): Promise<number>;
  /** Whether the region offers an inference profile, e.g. `global.anthropic.claude-sonnet-4-6`. */
  hasInferenceProfile(id: string): Promise<boolean>;
  model(id: string): Promise<ModelAvailability | undefined>;
  /** Whether the account has sent Anthropic's form about its use case. */
  hasUseCase(): Promise<boolean>;
  /** Accepts the first offer of a model's terms. @returns false if there is no offer */
  acceptTerms(id: string): Promise<boolean>;
  quotas(service: string): Promise<Quota[]>;
}

/** The region that the SDK uses: of the environment or the profile. Undefined when none is set. */
export async function configuredRegion(): Promise<string | undefined> {
  try {
    return await new SSMClient({}).config.region();
  } catch {
    return undefined;
  }
}

/** Global services answer in this region. */
const globalRegion = "us-east-1";

/** @param endpoint replaces the address of every service */
export function openAccount(region: string, endpoint?: string): Account {
  const send = openSigned(endpoint);
  const json = async <T>(request: Omit<ApiRequest, "region">): Promise<T> =>
    JSON.parse((await send({ region, ...request })) || "{}") as T;
  const bedrock = <T>(path: string, body?: object) => json<T>(bedrockRequest(path, body));
  return {
    identity: () => identity(send),
    regions: () => listRegions(send),
    bootstrapVersion: () =>
      unless("ParameterNotFound", async () => {
        const request = { Name: "/cdk-bootstrap/hnb659fds/version" };
        const answer = await json<{ Parameter: { Value: string } }>(
          rpcRequest("ssm", "AmazonSSM.GetParameter", request),
        );
        return Number(answer.Parameter.Value);
      }),
    async stack(name) {
      const { StackStatus = "", StackStatusReason: reason } =
        (await describeStack(name, { region, endpoint })) ?? {};
      return StackStatus ? { status: StackStatus, ...(reason ? { reason } : {}) } : undefined;
    },
    async concurrentExecutions() {
      const path = "/2016-08-19/account-settings/";
      type Answer = { AccountLimit: { ConcurrentExecutions: number } };
      return (await json<Answer>({ service: "lambda", method: "GET", path })).AccountLimit
        .ConcurrentExecutions;
    },
    hasInferenceProfile: async (id) =>
      (await unless(/^(ResourceNotFound|Validation)Exception$/, () =>
        bedrock<object>(`/inference-profiles/${encodeURIComponent(id)}`),
      )) !== undefined,
    model: (id) =>
      unless(/^(ResourceNotFound|Validation)Exception$/, () =>
        bedrock<ModelAvailability>(`/foundation-model-availability/${encodeURIComponent(id)}`),
      ),
    hasUseCase: async () =>
      (await unless("ResourceNotFoundException", () => bedrock<object>("/use-case-for-model-access"))) !==
      undefined,
    async acceptTerms(modelId) {
      type Offers = { offers: { offerToken: string }[] };
      const path = `/list-foundation-model-agreement-offers/${encodeURIComponent(modelId)}`;
      const [offer] = (await bedrock<Offers>(path)).offers;
      if (offer === undefined) return false;
      await bedrock("/create-foundation-model-agreement", { modelId, offerToken: offer.offerToken });
      return true;
    },
    quotas: (ServiceCode) =>
      pages<Quota>("Quotas", (NextToken) => {
        const request = { ServiceCode, MaxResults: 100, NextToken };
        return json(rpcRequest("servicequotas", "ServiceQuotasV20190624.ListServiceQuotas", request));
      }),
  };
}

async function identity(send: SendSigned): Promise<{ account: string; arn: string }> {
  // A region that is not enabled would refuse the credentials, so this asks a region that always is.
  const text = await send(
    formRequest("sts", globalRegion, { Action: "GetCallerIdentity", Version: "2011-06-15" }),
  );
  return { account: xmlValue(text, "Account") ?? "", arn: xmlValue(text, "Arn") ?? "" };
}

async function listRegions(send: SendSigned): Promise<Map<string, string>> {
  const found = await pages<{ RegionName: string; RegionOptStatus: string }>("Regions", async (NextToken) => {
    const body = JSON.stringify({ MaxResults: 50, NextToken });
    const headers = { "content-type": "application/json" };
    const request = { service: "account", region: globalRegion, path: "/listRegions", headers, body };
    return JSON.parse(await send(request)) as Record<string, unknown>;
  });
  return new Map(found.map(({ RegionName, RegionOptStatus }) => [RegionName, RegionOptStatus]));
}

function bedrockRequest(path: string, body?: object): Omit<ApiRequest, "region"> {
  if (body === undefined) return { service: "bedrock", method: "GET", path };
  const headers = { "content-type": "application/json" };
  return { service: "bedrock", path, headers, body: JSON.stringify(body) };
}

/** The items of all pages. A page may be empty although others follow. */
async function pages<T>(
  key: string,
  read: (token: string | undefined) => Promise<Record<string, unknown>>,
): Promise<T[]> {
  const items: T[] = [];
  let token: string | undefined;
  do {
    const page = await read(token);
    items.push(...((page[key] ?? []) as T[]));
    token = page.NextToken as string | undefined;
  } while (token);
  return items;
}

async function unless<T>(absence: string | RegExp, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ApiError && new RegExp(absence).test(error.name)) return undefined;
    throw error;
  }
}
