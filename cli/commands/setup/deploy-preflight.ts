import { configuredRegion } from "../../../shared/aws/account-state.ts";
import { defaults } from "../../../shared/configuration/defaults.ts";
import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import type { ConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { exitCode, Failure } from "../../app/failure.ts";
import { regionOf } from "../../gateway/aws-region.ts";
import { openGateway } from "../../gateway/gateway-client.ts";
import { type Finding, findingLines } from "../doctor/finding.ts";
import { configuredModel } from "../doctor/model-checks.ts";
import { isFault, preflight } from "../doctor/preflight.ts";

/** Runs `preflight` for a stage and prints its findings to standard error. */
export async function checkAccount(
  context: Context,
  saved: ConfigFile,
  { stage, acceptTerms = false }: { stage: string; acceptTerms?: boolean },
): Promise<Finding[]> {
  const isKnown = saved.deploy?.stage === stage && saved.gateway?.url !== undefined;
  const last = { region: regionOf(saved.gateway?.url ?? ""), ...saved.aws };
  const findings = await preflight({
    ...{ region: await configuredRegion(), stage, acceptTerms, endpoint: process.env.AWS_ENDPOINT_URL },
    model: isKnown ? await modelOf(saved) : defaults.model,
    ...(isKnown ? { last } : {}),
  });
  for (const line of findingLines(findings)) context.note(`    ${line}`);
  return findings;
}

/** @throws Failure when a finding is a fault; prints the verdict before */
export function stopAtFaults(context: Context, stage: string, findings: readonly Finding[]): void {
  const faults = findings.filter(isFault).length;
  if (faults === 0) return;
  const verdict = `${faults} of ${findings.length} checks failed; gsv-${stage} was not deployed (--no-preflight deploys it all the same)`;
  stop(context, stage, findings, verdict);
}

/** @throws Failure when the account or region is the wrong one, or cannot be used; prints the verdict before */
export function stopOutside(context: Context, stage: string, findings: readonly Finding[]): void {
  if (findings.some((one) => isFault(one) && (one.check === "aws" || one.check === "region")))
    stop(context, stage, findings, `gsv-${stage} cannot be read`);
}

function stop(context: Context, stage: string, findings: readonly Finding[], verdict: string): never {
  context.print({ ok: false, stage, findings }, verdict);
  // The findings have been printed; this only sets the exit code.
  throw new Failure("preflight", "", exitCode.failed);
}

/** The model that the deployed gateway uses; the default if it cannot be asked. */
async function modelOf({ gateway }: ConfigFile): Promise<ModelConfiguration> {
  try {
    const opened = await openGateway(gateway?.url ?? "", gateway?.token);
    try {
      return { ...defaults.model, ...(await configuredModel(opened)) };
    } finally {
      await opened.close();
    }
  } catch {
    return defaults.model;
  }
}
