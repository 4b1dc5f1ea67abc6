import {
  allowPage,
  type FoundStores,
  findStores,
  type StageStores,
  tagAdopted,
} from "../../../shared/aws/stage-data.ts";
import { findStack } from "../../../shared/aws/stage-stack.ts";
import type { Context } from "../../app/context.ts";
import { Failure, failureOf } from "../../app/failure.ts";
import type { StageContext } from "./deploy-stage.ts";

/** A kind of store, and the setting of a stage that names an existing one. */
const kinds = [
  { kind: "tables", setting: "tableName", noun: "table" },
  { kind: "buckets", setting: "bucketName", noun: "bucket" },
] as const;

/**
 * Adds the names of existing stores to the settings of a deployment: those that the deployed stack has adopted, which another
 * machine may have chosen, and with `adopts` those that a destroy kept. Settings with a value win.
 * @throws Failure when `adopts` finds nothing, or several tables or buckets
 */
export async function chooseStores(
  context: Context,
  chosen: StageContext,
  adopts: boolean,
): Promise<StageContext> {
  const { stage } = chosen;
  const found = await readStores(context, stage, adopts);
  if (found === undefined) return chosen;
  const isOpen = (setting: string) => !chosen[setting] && (adopts || chosen[setting] === undefined);
  const names: Record<string, string> = {};
  for (const { kind, setting, noun } of kinds.filter((one) => isOpen(one.setting))) {
    const name = found.adopted[kind][0] ?? (adopts ? theOnly(keptOf(found, kind), noun, setting) : undefined);
    if (name === undefined) continue;
    names[setting] = name;
    context.note(`    using the existing ${noun} ${name}`);
  }
  const isNamed = kinds.some(({ setting }) => names[setting] || chosen[setting]);
  if (adopts && !isNamed)
    throw new Failure(
      "adopt",
      `no table or bucket that gsv-${stage} kept is in this account and region; deploy without --adopt, or choose others with --profile and --region`,
    );
  if (!isNamed && !found.isDeployed) noteKept(context, stage, found);
  return { ...chosen, ...names };
}

/** Tags the stores that a deployment has adopted, and lets the stage's page use its bucket. A failure does not fail the deployment. */
export async function finishAdoption(
  context: Context,
  { stage, tableName, bucketName }: StageContext,
): Promise<void> {
  if (!tableName && !bucketName) return;
  try {
    const stack = await findStack(stage);
    if (stack === undefined) return;
    const found = await findStores(stage, stack);
    await tagAdopted(stage, stack, found);
    const page = stack.outputs.get("PageUrl");
    if (page) for (const bucket of found.adopted.buckets) await allowPage(bucket, page);
  } catch (error) {
    context.note(
      `    the table and bucket could not be prepared (${failureOf(error).message}); allow tag:TagResources, dynamodb:TagResource, s3:PutBucketTagging and s3:PutBucketCORS, and deploy again`,
    );
  }
}

/** Reads which stores there are. Credentials that may not read them can deploy without adopting. */
async function readStores(
  context: Context,
  stage: string,
  adopts: boolean,
): Promise<(FoundStores & { isDeployed: boolean }) | undefined> {
  try {
    const stack = await findStack(stage);
    return { ...(await findStores(stage, stack)), isDeployed: stack !== undefined };
  } catch (error) {
    if (adopts || !/AccessDenied/.test((error as Error).name)) throw error;
    context.note("    these credentials may not look for data that a destroy kept");
    return undefined;
  }
}

/** The stores of a stage that are no resources of its stack. */
function keptOf(found: FoundStores, kind: keyof StageStores): string[] {
  return found[kind].filter((name) => !found.own[kind].includes(name));
}

function theOnly(kept: readonly string[], noun: string, setting: string): string | undefined {
  if (kept.length <= 1) return kept[0];
  throw new Failure(
    "adopt",
    `several ${noun}s were kept: ${kept.join(", ")}; choose one with \`-c ${setting}=NAME\``,
  );
}

function noteKept(context: Context, stage: string, found: FoundStores): void {
  const kept = kinds.flatMap(({ kind, noun }) => keptOf(found, kind).map((name) => `${noun} ${name}`));
  if (kept.length > 0)
    context.note(
      `    this creates an empty gateway; \`gsv deploy --stage ${stage} --adopt\` would use what a destroy kept: ${kept.join(", ")}`,
    );
}
