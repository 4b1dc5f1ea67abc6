import type { ModelConfiguration } from "../../../shared/configuration/schema.ts";
import { readConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { exitCode, Failure } from "../../app/failure.ts";
import type { Action } from "../../app/program.ts";
import { fill } from "../../app/template.ts";
import { type Address, gatewayTroubles } from "../../gateway/address.ts";
import { regionOf } from "../../gateway/aws-region.ts";
import { folderText } from "../../gateway/data-folder.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { chooseAccount } from "../../gateway/stage-access.ts";
import { type Finding, failed, finding, findingLines } from "./finding.ts";
import {
  checkAdmins,
  checkApprovals,
  checkChannels,
  checkClock,
  checkPrices,
  checkSweep,
  checkToken,
  checkUpgrade,
  checkVersions,
  unreachable,
} from "./gateway-checks.ts";
import { checkMachine, storedHere } from "./machine-checks.ts";
import { checkModel, checkRegion, configuredModel } from "./model-checks.ts";
import { isFault, preflight } from "./preflight.ts";

/** Runs all checks and prints for each what to do. @throws Failure when a check found a fault */
export const doctor: Action = async (context) => {
  const checks = [...(await checkMachine(context)), ...(await checkFound(context))];
  const faults = checks.filter(isFault).length;
  const verdict = faults === 0 ? "all checks passed" : `${faults} of ${checks.length} checks failed`;
  context.print({ ok: faults === 0, checks }, [...findingLines(checks), "", verdict].join("\n"));
  // The findings have been printed; this only sets the exit code.
  if (faults > 0) throw new Failure("doctor", "", exitCode.failed);
};

async function checkFound(context: Context): Promise<Finding[]> {
  let address: Address;
  try {
    address = await context.address(true);
  } catch (error) {
    return [failed("gateway", error)];
  }
  const started = performance.now();
  let gateway: Gateway;
  try {
    gateway = await context.gateway();
  } catch (error) {
    return [unreachable(address.url, error)];
  }
  const connectMs = Math.round(performance.now() - started);
  const isLocal = /^ws:/.test(address.url);
  const model = configuredModel(gateway);
  const some = await Promise.all([
    address.close ? stoppedHere(context) : checkVersions(gateway, connectMs),
    attempt("upgrade", checkUpgrade(gateway)),
    attempt("approvals", checkApprovals(gateway)),
    attempt("token", checkToken(gateway)),
    attempt(
      "admin",
      storedHere(context).then((here) => checkAdmins(gateway, here)),
    ),
    attempt(
      "model",
      model.then((found) => checkModel(gateway, found, isLocal)),
    ),
    attempt("prices", checkPrices(gateway)),
    attempt("channels", checkChannels(gateway)),
    attempt("sweep", checkSweep(gateway)),
    isLocal ? finding("clockLocal") : checkClock(address.url, Date.now),
    attempt(
      "region",
      model.then((found) => checkAccount(context, address.url, found)),
    ),
  ]);
  return some.flat();
}

/** The finding for a local gateway that runs only for this command. The other checks still show what it would do. */
function stoppedHere({ dataFolder, terminal }: Context): Finding {
  const { symptom, remedy } = gatewayTroubles.stopped;
  const found = fill(symptom, { folder: folderText(dataFolder, terminal) });
  return { check: "gateway", state: "fault", found, todo: remedy };
}

/** Checks the gateway's AWS account and region. Not everyone who uses a gateway has credentials of its account. */
export async function checkAccount(
  context: Context,
  url: string,
  model: ModelConfiguration,
): Promise<Finding[]> {
  const region = regionOf(url);
  if (region === undefined) return [finding("regionElsewhere"), finding("quotaElsewhere")];
  const { env } = context.terminal;
  const { deploy, gateway, aws } = await readConfigFile((await context.settings()).file);
  chooseAccount(undefined, undefined);
  const isOurs = gateway?.url === url;
  const found = await preflight({
    ...{ region, model, endpoint: env.AWS_ENDPOINT_URL, last: (isOurs && aws) || {} },
    ...(isOurs && deploy?.stage ? { stage: deploy.stage } : {}),
  });
  const here = checkRegion(region, env);
  const missing = finding("credentialsMissing");
  if (found.some(({ found: text }) => text === missing.found)) return [here, finding("awsUnchecked")];
  return [here, ...found.filter(({ check, state }) => check !== "region" || state !== "ok")];
}

/** The findings of a check. A check that throws is a fault. */
function attempt(check: string, result: Promise<Finding | Finding[]>): Promise<Finding | Finding[]> {
  return result.catch((error: unknown) => failed(check, error));
}
