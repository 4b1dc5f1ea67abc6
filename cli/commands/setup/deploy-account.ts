import { openAccount } from "../../../shared/aws/account-state.ts";
import { type ConfigFile, updateConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure } from "../../app/failure.ts";
import { type Invocation, text } from "../../app/options.ts";
import { regionOf } from "../../gateway/aws-region.ts";
import { chooseAccount } from "../../gateway/stage-access.ts";
import { fileOfItsOwn } from "./deploy-stage.ts";

/** The number of the account that the credentials belong to. Every credential may read it. */
async function readAccount(): Promise<string> {
  // Any region will do: identities are global.
  return (await openAccount("us-east-1", process.env.AWS_ENDPOINT_URL).identity()).account;
}

/** Where a stage was deployed last, as far as the config file says. Empty for a stage of another file. */
function lastPlace(
  { deploy, aws, gateway }: ConfigFile,
  stage: string,
): { account?: string; region?: string } {
  if (deploy?.stage !== stage) return {};
  const region = aws?.region || (gateway?.url && regionOf(gateway.url));
  return { ...(aws?.account ? { account: aws.account } : {}), ...(region ? { region } : {}) };
}

/** Chooses the profile and the region: of the options, else the region of the last deployment, else of the environment. */
export function chooseStageAccount(
  context: Context,
  saved: ConfigFile,
  stage: string,
  options: Invocation["options"],
): void {
  const given = text(options.region);
  const { region: last } = lastPlace(saved, stage);
  const here = process.env.AWS_REGION || process.env.AWS_DEFAULT_REGION;
  if (!given && last && here && here !== last)
    context.note(`    region ${last}, as in the last deployment (this terminal's is ${here})`);
  chooseAccount(text(options.profile), given ?? last);
}

/**
 * Compares the account and the region with those of the last deployment.
 * @returns the account
 * @throws Failure when they differ
 */
export async function checkStageAccount(
  saved: ConfigFile,
  { stage, file }: { stage: string; file: string },
): Promise<string> {
  const account = await readAccount();
  const last = lastPlace(saved, stage);
  const region = process.env.AWS_REGION;
  const advice = `for a second gateway ${fileOfItsOwn(file, stage)}`;
  if (last.account && account !== last.account)
    throw new Failure(
      "aws-account",
      `gsv-${stage} was deployed to the account ${last.account}, but these credentials belong to ${account}; choose another --profile, or ${advice}`,
    );
  if (last.region && region && region !== last.region)
    throw new Failure(
      "aws-region",
      `gsv-${stage} was deployed to ${last.region}, not ${region}; omit --region, or ${advice}`,
    );
  return account;
}

/** Remembers where a stage is deployed. */
export async function rememberPlace(file: string, url: string): Promise<void> {
  const region = regionOf(url) ?? process.env.AWS_REGION;
  await updateConfigFile(file, { aws: { account: await readAccount(), region } });
}
