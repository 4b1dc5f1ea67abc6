import { readStage, type StageOutputs } from "../../../shared/aws/deployed-stage.ts";
import { pairs } from "../../app/columns.ts";
import { readConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure, failureOf } from "../../app/failure.ts";
import { checkoutFolder, version } from "../../app/installation.ts";
import type { Invocation } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { openGateway } from "../../gateway/gateway-client.ts";
import { chooseStageAccount } from "./deploy-account.ts";
import { checkAccount, stopOutside } from "./deploy-preflight.ts";
import { chooseContext, type Run, run, runCdk, type StageContext } from "./deploy-stage.ts";

export const deployStatus: Action = (context, invocation) => showDeployment(context, invocation, run);

/** Shows what is deployed of a stage and, in a checkout, whether a deployment would change it. */
export async function showDeployment(context: Context, { options }: Invocation, runStep: Run): Promise<void> {
  const { file } = await context.settings();
  const saved = await readConfigFile(file);
  const chosen = chooseContext(saved, options);
  const { stage } = chosen;
  chooseStageAccount(context, saved, stage, options);
  const findings = await checkAccount(context, saved, { stage });
  stopOutside(context, stage, findings);
  const outputs = await readStage(stage);
  const stack = `gsv-${stage}`;
  if (outputs === undefined) {
    const message = `${stack} is not deployed here; \`gsv deploy --stage ${stage}\` deploys it`;
    context.print({ stack, stage, deployed: false, findings }, message);
    return;
  }
  const running = await runningVersion(outputs, saved.gateway);
  const compared = options.diff !== false && checkoutFolder() !== undefined;
  const differs = compared ? await isDifferent(context, chosen, runStep) : undefined;
  const found = {
    stack,
    stage,
    deployed: true,
    outputs,
    version: running.version,
    here: version,
    differs,
    findings,
  };
  const shown = pairs([
    ["stack", stack],
    ["stage", stage],
    ["gateway", outputs.WebSocketUrl],
    ["webhook", outputs.WebhookUrl],
    ["mcp", outputs.McpUrl ?? "none; `gsv deploy` adds it"],
    ["openai", outputs.OpenaiUrl ?? "none; `gsv deploy` adds it"],
    ["table", outputs.TableName],
    ["bucket", outputs.BucketName],
    ["version", running.version ?? `unknown: ${running.fault}`],
    ["version here", version],
    ["differs", differsText(differs)],
  ]);
  context.print(found, shown);
}

function differsText(differs: boolean | undefined): string {
  if (differs === undefined) return "not compared";
  return differs
    ? "yes; `gsv deploy` applies the changes listed above (or the CDK failed, with its error above)"
    : "no";
}

/** The version of the deployed gateway. Reading it needs one of the gateway's tokens. */
async function runningVersion(
  { WebSocketUrl }: StageOutputs,
  saved: { url?: string; token?: string } = {},
): Promise<{ version?: string; fault?: string }> {
  if (saved.url !== WebSocketUrl || !saved.token) return { fault: "the config file has no token for it" };
  try {
    const gateway = await openGateway(WebSocketUrl, saved.token);
    await gateway.close();
    return { version: gateway.hello.server.version };
  } catch (error) {
    return { fault: failureOf(error).message };
  }
}

/** Whether the deployed stack differs from this checkout. The CDK prints the differences to standard error. */
async function isDifferent(context: Context, chosen: StageContext, runStep: Run): Promise<boolean> {
  try {
    await runCdk(runStep, ["diff", `gsv-${chosen.stage}`, "--fail"], chosen, context);
    return false;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return true;
  }
}
