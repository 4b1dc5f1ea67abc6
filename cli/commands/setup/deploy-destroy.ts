import { deleteStageData, readStage, type StageOutputs } from "../../../shared/aws/deployed-stage.ts";
import { readConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure, failureOf, usage } from "../../app/failure.ts";
import { neededCheckout } from "../../app/installation.ts";
import { type Invocation, text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { ask } from "../../app/questions.ts";
import { checkCredentials, chooseAccount } from "../../gateway/stage-access.ts";
import { chooseContext, type Run, run, runCdk } from "./deploy-stage.ts";

export const destroy: Action = (context, invocation) => destroyStage(context, invocation, run);

/**
 * Deletes a stage's stack. Its table, bucket and secrets remain, unless `--delete-data` is given. Asks the user to type the
 * stage's name, and another word before data is deleted.
 * @throws Failure also when the user types something else; then nothing is deleted
 */
export async function destroyStage(context: Context, { options }: Invocation, runStep: Run): Promise<void> {
  neededCheckout("gsv deploy destroy");
  const { file } = await context.settings();
  const chosen = chooseContext(await readConfigFile(file), options);
  const { stage } = chosen;
  const deleteData = options.deleteData === true;
  const yes = options.yes === true;
  if (!yes && context.terminal.stdin.isTTY !== true)
    throw usage("deploy destroy asks for the stage's name; without a terminal, pass --yes");
  chooseAccount(text(options.profile), text(options.region));
  await checkCredentials(stage);
  const outputs = await readStage(stage);
  if (outputs === undefined)
    throw new Failure("not-deployed", `gsv-${stage} is not deployed in this account and region`);
  if (!yes) await confirmTyped(context, stage, outputs, deleteData);
  await runCdk(runStep, ["destroy", `gsv-${stage}`, "--force"], chosen, context);
  const { TableName: table, BucketName: bucket } = outputs;
  const kept = { table, bucket, secrets: `/gsv/${stage}/secrets` };
  if (!deleteData) {
    const message = `deleted the stack gsv-${stage}. Its data remains:\n  table    ${table}\n  bucket   ${bucket}\n  secrets  ${kept.secrets} (SSM)\ndocs/operations.md, "Taking it down", describes how to delete them later.`;
    context.print({ ok: true, stage, kept }, message);
    return;
  }
  await deleteStageData(stage, outputs).catch((error: unknown) => {
    throw new Failure(
      "data",
      `deleted the stack gsv-${stage}, but not all of its data (${failureOf(error).message}); check the table ${table}, the bucket ${bucket} and the secrets under ${kept.secrets}`,
    );
  });
  context.print({ ok: true, stage, deleted: kept }, `deleted gsv-${stage} and all its data`);
}

async function confirmTyped(
  context: Context,
  stage: string,
  { TableName, BucketName }: StageOutputs,
  deleteData: boolean,
): Promise<void> {
  const expect = async (question: string, word: string) => {
    if ((await ask(context.terminal, question)) !== word)
      throw new Failure("cancelled", "nothing was deleted");
  };
  await expect(`This deletes the stack gsv-${stage}. Type the stage's name to continue`, stage);
  if (!deleteData) return;
  context.note(
    `All conversations, files and secrets will be deleted, too (${TableName}, ${BucketName}). This cannot be undone.`,
  );
  await expect("Type delete to continue", "delete");
}
