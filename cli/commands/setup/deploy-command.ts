import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beginGuarded } from "../../../shared/approvals/first-mode.ts";
import type { StageOutputs } from "../../../shared/aws/deployed-stage.ts";
import { openDynamoDBTable } from "../../../shared/aws/dynamodb-table.ts";
import { createToken, listTokens } from "../../../shared/peers/tokens.ts";
import type { Scope } from "../../../shared/protocol/methods.ts";
import { type ConfigFile, readConfigFile, updateConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure, failureOf, usage } from "../../app/failure.ts";
import { neededCheckout } from "../../app/installation.ts";
import type { Invocation } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import type { Settings } from "../../app/settings.ts";
import { openGateway } from "../../gateway/gateway-client.ts";
import { machineToken } from "../../gateway/machine-token.ts";
import { chooseStageAccount, rememberPlace } from "./deploy-account.ts";
import { chooseStores, finishAdoption } from "./deploy-adopt.ts";
import { checkAccount, stopAtFaults } from "./deploy-preflight.ts";
import { chooseContext, fileOfItsOwn, type Run, run, runCdk, type StageContext } from "./deploy-stage.ts";
import { answerText, tryTurn } from "./deploy-turn.ts";

type Outputs = Pick<StageOutputs, "WebSocketUrl" | "WebhookUrl" | "OpenaiUrl" | "McpUrl" | "TableName">;

export const deploy: Action = (context, invocation) => deployStage(context, invocation, run);

/**
 * Builds and deploys a stage, creates a token for this machine unless it has one, saves url and token, and writes the
 * agent's initial files.
 */
export async function deployStage(context: Context, { options }: Invocation, runStep: Run): Promise<void> {
  neededCheckout("gsv deploy");
  const settings = await context.settings();
  const saved = await readConfigFile(settings.file);
  const asked = chooseContext(saved, options);
  const { stage } = asked;
  const yes = options.yes === true;
  if (!yes && context.terminal.stdin.isTTY !== true)
    throw usage("deploy asks before permissions change; without a terminal, pass --yes");
  if ((saved.deploy?.stage ?? stage) !== stage)
    throw new Failure(
      "config",
      `${settings.file} belongs to the stage ${saved.deploy?.stage}; ${fileOfItsOwn(settings.file, stage)}`,
    );
  chooseStageAccount(context, saved, stage, options);

  context.note("1/5 checking the AWS account");
  const findings = await checkAccount(context, saved, {
    stage,
    acceptTerms: options.acceptModelTerms === true,
  });
  if (options.preflight !== false) stopAtFaults(context, stage, findings);
  const chosen = await chooseStores(context, asked, options.adopt === true);
  context.note(`2/5 building and deploying the stack gsv-${stage} (the first time takes some minutes)`);
  const outputs = await deployStack(context, chosen, yes, runStep);
  await finishAdoption(context, chosen);
  await checkFile(settings.file, saved, stage, outputs.WebSocketUrl);
  context.note("3/5 the access token of this machine");
  const token = await tokenFor(context, settings, outputs).catch((error: Error) => {
    throw error.name === "AccessDeniedException" ? withoutTableRights(stage, outputs.TableName) : error;
  });
  context.note(`4/5 saving url and token in ${settings.file}`);
  await updateConfigFile(settings.file, { gateway: { url: outputs.WebSocketUrl, token }, deploy: chosen });
  await rememberPlace(settings.file, outputs.WebSocketUrl);
  const { WebSocketUrl: url, WebhookUrl: webhook, OpenaiUrl: openai, McpUrl: mcp } = outputs;
  await writeFirstFiles(context, url, token);
  context.note("5/5 the first answer");
  const answer = await tryTurn(url, token);
  context.note(`    ${answerText(answer)}`);
  context.print(
    { stage, url, webhook, openai, mcp, file: settings.file, findings, answer },
    `gsv-${stage} is deployed.\n  gateway  ${url}\n  webhook  ${webhook}\n  openai   ${openai}\n  mcp      ${mcp}\nTry \`gsv status\`, then \`gsv client\`.`,
  );
}

/** Refuses to overwrite a valid token of another gateway, because the file may contain its only copy. */
async function checkFile(file: string, { gateway }: ConfigFile, stage: string, url: string): Promise<void> {
  if (!gateway?.url || !gateway.token || gateway.url === url) return;
  if (!(await scopesOf(gateway.url, gateway.token))) return;
  throw new Failure(
    "config",
    `gsv-${stage} is deployed, but ${file} contains the token of another gateway, ${gateway.url}; ${fileOfItsOwn(file, stage)}`,
  );
}

async function deployStack(
  context: Context,
  chosen: StageContext,
  yes: boolean,
  runStep: Run,
): Promise<Outputs> {
  const { stage } = chosen;
  const folder = await mkdtemp(join(tmpdir(), "gsv-deploy-"));
  const file = join(folder, "outputs.json");
  try {
    const approval = yes ? "never" : "broadening";
    const args = ["deploy", `gsv-${stage}`, "--outputs-file", file, "--require-approval", approval];
    await runCdk(runStep, args, chosen, context);
    const written: Record<string, Partial<Outputs>> = JSON.parse(await readFile(file, "utf8"));
    const { WebSocketUrl, WebhookUrl, TableName } = written[`gsv-${stage}`] ?? {};
    if (WebSocketUrl && WebhookUrl && TableName) return { WebSocketUrl, WebhookUrl, TableName };
    throw new Failure(
      "outputs",
      `the outputs of the stack gsv-${stage} are incomplete; check them in CloudFormation`,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The token of the config file if this gateway accepts it without admin rights; otherwise a new one, which has none. */
async function tokenFor(context: Context, settings: Settings, outputs: Outputs): Promise<string> {
  const known = settings.url?.value === outputs.WebSocketUrl ? settings.token?.value : undefined;
  const scopes = known && (await scopesOf(outputs.WebSocketUrl, known));
  if (known && scopes && !scopes.includes("admin")) {
    context.note("    the token in the config file is still valid");
    return known;
  }
  const table = openDynamoDBTable(outputs.TableName);
  const now = Date.now();
  const tokens = await listTokens(table, now);
  if (tokens.length === 0) {
    await beginGuarded(table);
    context.note("    it asks you before what words of others could cause: gsv approvals mode");
  }
  const created = await createToken(table, machineToken(tokens), now);
  context.note(`    created ${created.id} (${created.name}: ${created.scopes.join(", ")})`);
  return created.token;
}

/** The error when the stack is deployed, but the deployer's credentials may not use its table. */
function withoutTableRights(stage: string, table: string): Failure {
  return new Failure(
    "aws-table",
    `gsv-${stage} is deployed, but these credentials may not create its first token; allow them dynamodb:Query, GetItem, UpdateItem and ` +
      `PutItem on the table ${table} and run \`gsv deploy --stage ${stage}\` again, or ask an owner to run ` +
      "`gsv token create` and save the token with `gsv init`",
  );
}

/** Writes the agent's initial files. A failure does not fail the deployment. */
async function writeFirstFiles(context: Context, url: string, token: string): Promise<void> {
  try {
    const gateway = await openGateway(url, token);
    try {
      const { written } = await gateway.request("agent.init", {});
      if (written.length > 0) context.note(`    the agent's initial files: ${written.join(", ")}`);
    } finally {
      await gateway.close();
    }
  } catch (error) {
    const { message } = failureOf(error);
    context.note(
      `    the agent's initial files could not be written (${message}); run \`gsv agent init\` later`,
    );
  }
}

/** The scopes that a gateway accepts a token for; none as an early version tells. Undefined if it refuses the token. */
async function scopesOf(url: string, token: string): Promise<readonly Scope[] | undefined> {
  try {
    const gateway = await openGateway(url, token);
    await gateway.close();
    return gateway.hello.scopes ?? [];
  } catch {
    return undefined;
  }
}
