import { type Account, openAccount } from "../../../shared/aws/account-state.ts";
import { ApiError } from "../../../shared/aws/signed-request.ts";
import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import { maxAgentsOf } from "../../../shared/runtime/max-agents.ts";
import { checkBedrock } from "./bedrock-checks.ts";
import { checked, reasonOf } from "./checked.ts";
import { type Finding, finding } from "./finding.ts";
import { checkBootstrap, checkStack } from "./stack-checks.ts";

/** What `preflight` checks. */
export interface Preflight {
  /** Undefined when none is set. */
  region: string | undefined;
  /** The gateway's model, or that of a new gateway. */
  model: ModelConfiguration;
  /** Without a stage, its stack is not checked. */
  stage?: string;
  /** Where the stage was deployed last, as far as it is known. Undefined for a new stage. */
  last?: { account?: string; region?: string };
  /** Accept the model's terms if nobody has. */
  acceptTerms?: boolean;
  /** Replaces the address of every AWS service. */
  endpoint?: string;
}

/** Regions of other partitions than `aws`. */
const otherPartition = /^(us-gov|cn|us-iso[a-z]*|eu-isoe|eusc)-/;

/** Checks an AWS account and region for what a gateway needs. Changes nothing, except by `acceptTerms`. Never rejects. */
export async function preflight(input: Preflight): Promise<Finding[]> {
  const { region, endpoint, model, stage, acceptTerms = false } = input;
  if (region === undefined) return [finding("regionUnset")];
  if (otherPartition.test(region)) return [finding("regionPartition", { region })];
  const account = openAccount(region, endpoint);
  let who: { account: string; arn: string };
  try {
    who = await account.identity();
  } catch (error) {
    return [credentialFault(error)];
  }
  const place = [finding("accountOk", who), ...differences(input, who.account, region)];
  // In another account or region, the other findings would be about the wrong one.
  if (place.some(isFault)) return place;
  place.push(...(await checkRegionName(account, region)));
  if (place.some(isFault)) return place;
  const rest = await Promise.all([
    checked("ssm:GetParameter", "the bootstrap", () => checkBootstrap(account, who.account, region)),
    stage === undefined
      ? []
      : checked("cloudformation:DescribeStacks", "the stack", () => checkStack(account, stage, region)),
    checked("lambda:GetAccountSettings", "the quota of functions", async () => {
      const executions = await account.concurrentExecutions();
      const agents = maxAgentsOf(executions);
      return agents === undefined
        ? finding("quotaFunctions", { executions })
        : finding("quotaFewFunctions", { executions, agents, region });
    }),
    model.provider === "amazon-bedrock"
      ? checkBedrock({ account, region, id: model.id, acceptTerms, isNew: input.last === undefined })
      : [],
  ]);
  return [...place, ...rest.flat()];
}

/** Whether a finding stops a deployment. */
export function isFault({ state }: Finding): boolean {
  return state === "fault";
}

function differences({ stage = "", last = {} }: Preflight, account: string, region: string): Finding[] {
  if (last.account && last.account !== account)
    return [finding("accountDiffers", { account, stage, last: last.account })];
  if (last.region && last.region !== region)
    return [finding("regionLast", { stage, last: last.region, region })];
  return [];
}

function checkRegionName(account: Account, region: string): Promise<Finding[]> {
  return checked("account:ListRegions", "the region's name", async () => {
    const status = (await account.regions()).get(region);
    if (status === undefined) return finding("regionUnknown", { region });
    return /^ENABLED/.test(status) ? finding("regionOk", { region }) : finding("regionDisabled", { region });
  });
}

/** The finding for a failed sts:GetCallerIdentity, which needs no permission. */
function credentialFault(error: unknown): Finding {
  if (error instanceof ApiError && error.status < 500) {
    const code = error.name;
    return finding(/Expired/.test(code) ? "credentialsExpired" : "credentialsRefused", { code });
  }
  const { name, message } = error as Error;
  if (!/CredentialsProviderError|TokenProviderError/.test(name))
    return finding("awsSilent", { reason: reasonOf(error) });
  return /expired|refresh/i.test(message)
    ? finding("credentialsExpired", { code: name })
    : finding("credentialsMissing");
}
