import { deleteStageData } from "../../../shared/aws/delete-data.ts";
import { readStage } from "../../../shared/aws/deployed-stage.ts";
import { findStageData, type StageData, tagAdopted } from "../../../shared/aws/stage-data.ts";
import { deleteStack, findStack, type StageStack } from "../../../shared/aws/stage-stack.ts";
import { pairs } from "../../app/columns.ts";
import { type ConfigFile, readConfigFile, updateConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure, failureOf, usage } from "../../app/failure.ts";
import type { Action } from "../../app/program.ts";
import { ask } from "../../app/questions.ts";
import { checkCredentials } from "../../gateway/stage-access.ts";
import { checkStageAccount, chooseStageAccount } from "./deploy-account.ts";
import { chooseContext } from "./deploy-stage.ts";

/**
 * Deletes a stage's stack and, with `--delete-data`, all tables, buckets and secrets of the stage. Prints their names first, and
 * asks the user to type the stage's name, and another word before data is deleted. Every run reads the account again, so
 * it can be repeated after any failure.
 * @throws Failure also when the user types something else; then nothing is deleted
 */
export const destroy: Action = async (context, { options }) => {
  const { file } = await context.settings();
  const saved = await readConfigFile(file);
  const { stage } = chooseContext(saved, options);
  const deleteData = options.deleteData === true;
  const yes = options.yes === true;
  if (!yes && context.terminal.stdin.isTTY !== true)
    throw usage("deploy destroy asks for the stage's name; without a terminal, pass --yes");
  chooseStageAccount(context, saved, stage, options);
  await checkCredentials(stage);
  const account = await checkStageAccount(saved, { stage, file });
  const stack = await findStack(stage);
  // The parameters of a stage are resources of its stack.
  if (stack === undefined && (await readStage(stage)))
    throw new Failure(
      "embedded",
      `the gateway ${stage} is part of another CDK app; delete it there, and then its data with \`gsv deploy destroy --stage ${stage} --delete-data\``,
    );
  const data = await findStageData(stage, stack);
  const { tables, buckets, secrets } = data;
  const names = { tables, buckets, secrets };
  if (!stack && [...tables, ...buckets, ...secrets].length === 0)
    throw new Failure(
      "not-deployed",
      `there is no stack and no data of gsv-${stage} in the account ${account}, region ${process.env.AWS_REGION}; choose others with --profile and --region`,
    );
  context.note(namesOf(stage, stack, names, deleteData));
  if (!yes && (stack || deleteData)) await confirmTyped(context, stage, deleteData);
  const again = `run \`gsv deploy destroy --stage ${stage}${deleteData ? " --delete-data" : ""}\` again, which continues`;
  if (stack) {
    try {
      // Without the stack, its tags alone find a store.
      await tagAdopted(stage, stack, data);
      context.note(`deleting the stack gsv-${stage}, which can last some minutes`);
      await deleteStack(stage, stack);
    } catch (error) {
      const reason = failureOf(error).message;
      throw new Failure("stack", `the stack gsv-${stage} was not deleted (${reason}); ${again}`);
    }
  }
  if (!deleteData) {
    const message = `the stack gsv-${stage} is deleted. Its data remains:\n${listed(names)}\n\`gsv deploy --adopt\` uses it again; \`gsv deploy destroy --delete-data\` deletes it.`;
    context.print({ ok: true, stage, kept: names }, message);
    return;
  }
  await deleteStageData(data).catch((error: unknown) => {
    const reason = failureOf(error).message;
    throw new Failure("data", `not all data of gsv-${stage} was deleted (${reason}); ${again}`);
  });
  await forgetStage(file, saved, stage);
  context.print({ ok: true, stage, deleted: names }, `deleted gsv-${stage} and all its data`);
};

function listed({ tables, buckets, secrets }: StageData): string {
  const rows = [
    ...tables.map((name) => ["table", name] as const),
    ...buckets.map((name) => ["bucket", name] as const),
    ...secrets.map((name) => ["secret", name] as const),
  ];
  return pairs(rows.map(([kind, name]) => [`  ${kind}`, name]));
}

/** The names of deleted and kept resources. Resources of the stack are listed by type. */
function namesOf(stage: string, stack: StageStack | undefined, data: StageData, deleteData: boolean): string {
  const byType = new Map<string, string[]>();
  for (const { type, name } of stack?.resources ?? [])
    if (name !== undefined && !data.tables.includes(name) && !data.buckets.includes(name))
      byType.set(type, [...(byType.get(type) ?? []), name]);
  const resources = [...byType].map(
    ([type, names]) => [`  ${type.replace(/^AWS::/, "")}`, names.join(", ")] as const,
  );
  return [
    stack ? `The stack gsv-${stage} (${stack.status}) is deleted:` : `There is no stack gsv-${stage}.`,
    ...(resources.length > 0 ? [pairs(resources)] : []),
    `This data is ${deleteData ? "deleted" : "kept"}:`,
    listed(data),
  ].join("\n");
}

/** Forgets where the stage is, and the deleted stores that it has adopted. */
async function forgetStage(file: string, { deploy }: ConfigFile, stage: string): Promise<void> {
  if (deploy?.stage !== stage) return;
  const adopted = ["tableName", "bucketName"].filter((name) => deploy[name]);
  const cleared = Object.fromEntries(adopted.map((name) => [name, ""]));
  await updateConfigFile(file, { deploy: cleared, aws: { account: "", region: "" } });
}

async function confirmTyped(context: Context, stage: string, deleteData: boolean): Promise<void> {
  const expect = async (question: string, word: string) => {
    if ((await ask(context.terminal, question)) !== word)
      throw new Failure("cancelled", "nothing was deleted");
  };
  await expect("Type the stage's name to continue", stage);
  if (!deleteData) return;
  context.note("All conversations, files and secrets will be deleted, too. This cannot be undone.");
  await expect("Type delete to continue", "delete");
}
