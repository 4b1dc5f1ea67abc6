import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { preflight } from "../../../cli/commands/doctor/preflight.ts";
import type { FirstAnswer } from "../../../cli/commands/setup/deploy-turn.ts";
import { configuredRegion } from "../../../shared/aws/account-state.ts";
import { readStage } from "../../../shared/aws/deployed-stage.ts";
import { openDynamoDBTable } from "../../../shared/aws/dynamodb-table.ts";
import { openSigned } from "../../../shared/aws/signed-request.ts";
import { findStageData } from "../../../shared/aws/stage-data.ts";
import { deleteStack, findStack, type StageStack } from "../../../shared/aws/stage-stack.ts";
import { standingAdmin } from "../../support/standing-admin.ts";
import { gsvIn } from "../gsv.ts";
import type { Deployed, Place } from "../place.ts";
import { countMetrics, metricsOf } from "./metrics.ts";
import { listPrices } from "./price-list.ts";
import { runCommand } from "./run-command.ts";
import { watchTimer } from "./watch-timer.ts";

/** API Gateway closes a connection after ten idle minutes. */
const idleMs = 11 * 60_000;

/**
 * An AWS account, with the credentials and the region that the SDK finds.
 * @param say receives what the deployment prints
 * @throws Error when no region is set
 */
export async function openAwsPlace(stage: string, say: (line: string) => void): Promise<Place> {
  const region = await configuredRegion();
  if (region === undefined) throw new Error("no AWS region is set; pass --region NAME");
  const endpoint = process.env.AWS_ENDPOINT_URL;
  const send = openSigned(endpoint);
  const folder = await mkdtemp(join(tmpdir(), "gsv-account-deploy-"));
  const gsv = gsvIn(folder, join(folder, "config.toml"), (text) => say(text.trimEnd()));
  const model = `${stage}-model`;
  const begun = Date.now();
  let deploying: Promise<Deployed> | undefined;
  return {
    name: region,
    idleMs,
    existing: () => existing(stage, model),
    // The model is scripted, so the checks of Bedrock do not matter.
    preflight: () =>
      preflight({ region, endpoint, stage, model: { provider: "openai-compatible", id: "scripted" } }),
    deploy: () => (deploying = deploy(stage, gsv, folder, say)),
    watched: async () => watchTimer(send, region, await stackOf(stage), begun),
    async count() {
      const metrics = await metricsOf(send, region, await stackOf(stage));
      return countMetrics(send, region, metrics, begun);
    },
    prices: () => listPrices(region, endpoint),
    async destroy() {
      // A deployment that goes on would create what is deleted now.
      await deploying?.catch(() => {});
      if ((await existing(stage)).length > 0)
        await gsv("deploy", "destroy", "--stage", stage, "--delete-data", "--yes");
      const stack = await findStack(model);
      if (stack) await deleteStack(model, stack);
      await rm(folder, { recursive: true, force: true });
    },
    destroyCommands: [
      `npx gsv deploy destroy --stage ${stage} --delete-data --region ${region}`,
      `aws cloudformation delete-stack --stack-name gsv-${model} --region ${region}`,
    ],
  };
}

async function stackOf(stage: string): Promise<StageStack> {
  const stack = await findStack(stage);
  if (stack === undefined) throw new Error(`there is no stack gsv-${stage}`);
  return stack;
}

/** The stacks, stores and secrets of a stage. */
async function existing(stage: string, ...otherStages: string[]): Promise<string[]> {
  const stack = await findStack(stage);
  const { tables, buckets, secrets } = await findStageData(stage, stack);
  const others = await Promise.all(
    otherStages.map(async (one) => ((await findStack(one)) ? [`gsv-${one}`] : [])),
  );
  return [...(stack ? [`gsv-${stage}`] : []), ...tables, ...buckets, ...secrets, ...others.flat()];
}

/** Deploys the gateway as a user does, and the scripted model beside it. */
async function deploy(
  stage: string,
  gsv: ReturnType<typeof gsvIn>,
  folder: string,
  say: (line: string) => void,
): Promise<Deployed> {
  const { answer } = await gsv("deploy", "--stage", stage, "--yes", "--no-preflight");
  const { ms, turn, error } = answer as FirstAnswer;
  const key = randomBytes(24).toString("hex");
  const outputs = join(folder, "outputs.json");
  const app = `npx tsx ${fileURLToPath(new URL("../model/synth.ts", import.meta.url))}`;
  const context = ["-c", `stage=${stage}`, "-c", `modelKey=${key}`];
  const args = ["cdk", "deploy", "--app", app, "--outputs-file", outputs, "--require-approval", "never"];
  await runCommand("npx", [...args, "--output", join(folder, "cdk.out"), ...context], say);
  const written = JSON.parse(await readFile(outputs, "utf8")) as Record<string, { ModelUrl: string }>;
  const stageOutputs = await readStage(stage);
  if (stageOutputs === undefined) throw new Error(`gsv-${stage} has published no addresses`);
  const { WebSocketUrl: url, WebhookUrl, TableName } = stageOutputs;
  const { token } = await standingAdmin(openDynamoDBTable(TableName));
  return {
    ...{ url, token, webhook: WebhookUrl.replace(/\/$/, "") },
    model: { url: `${written[`gsv-${stage}-model`]?.ModelUrl}v1`, key },
    firstAnswer: { ms, error, dollars: turn?.dollars },
  };
}
