import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDynamoDBTable } from "../../../shared/aws/dynamodb-table.ts";
import { createToken, listTokens } from "../../../shared/peers/tokens.ts";
import { scopes } from "../../../shared/protocol/methods.ts";
import type { TokenEntry } from "../../../shared/protocol/results.ts";
import { type ConfigFile, readConfigFile, updateConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { Failure, failureOf, usage } from "../../app/failure.ts";
import type { Invocation } from "../../app/options.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import type { Settings } from "../../app/settings.ts";
import { machineId, openGateway } from "../../gateway/gateway-client.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Runs a program until it exits, with its output on standard error. Rejects with a Failure when it fails. */
export type Run = (command: string, args: string[], context: Context) => Promise<void>;

/** The stage and its other settings, as CDK context values. */
type StageContext = Record<string, string> & { stage: string };

/** Outputs of the deployed stack. */
interface Outputs {
  WebSocketUrl: string;
  WebhookUrl: string;
  TableName: string;
}

export const deploy: Action = (context, invocation) => deployStage(context, invocation, run);

/**
 * Builds and deploys a stage, creates a token for this machine unless it has one, saves url and token, and writes the
 * agent's first files.
 */
export async function deployStage(context: Context, { options }: Invocation, runStep: Run): Promise<void> {
  const settings = await context.settings();
  const saved = await readConfigFile(settings.file);
  const chosen = chooseContext(saved, options);
  const { stage } = chosen;
  if (!/^[a-z][a-z0-9-]{0,19}$/.test(stage))
    throw usage(`a stage is a short name of a-z, 0-9 and -, not ${stage}`);
  const yes = options.yes === true;
  if (!yes && context.terminal.stdin.isTTY !== true)
    throw usage("deploy asks before permissions change; without a terminal add --yes");
  if ((saved.deploy?.stage ?? stage) !== stage)
    throw new Failure(
      "config",
      `${settings.file} belongs to the stage ${saved.deploy?.stage}; ${fileOfItsOwn(settings.file, stage)}`,
    );
  chooseAccount(text(options.profile), text(options.region));

  context.note("1/4 checking the AWS credentials");
  await checkCredentials(stage);
  context.note(`2/4 building and deploying the stack gsv-${stage} (a first time takes some minutes)`);
  const outputs = await deployStack(context, chosen, yes, runStep);
  await checkFile(settings.file, saved, stage, outputs.WebSocketUrl);
  context.note("3/4 the access token of this machine");
  const token = await tokenFor(context, settings, outputs).catch((error: Error) => {
    throw error.name === "AccessDeniedException" ? withoutTableRights(stage, outputs.TableName) : error;
  });
  context.note(`4/4 saving url and token in ${settings.file}`);
  await updateConfigFile(settings.file, { gateway: { url: outputs.WebSocketUrl, token }, deploy: chosen });
  const { WebSocketUrl: url, WebhookUrl: webhook } = outputs;
  await writeFirstFiles(context, url, token);
  context.print(
    { stage, url, webhook, file: settings.file },
    `gsv-${stage} is deployed.\n  gateway  ${url}\n  webhook  ${webhook}\nTry \`gsv status\`, then \`gsv client\`.`,
  );
}

/** Merges the context values of the config file with those of the command line, which take precedence. */
function chooseContext({ deploy: remembered }: ConfigFile, options: Invocation["options"]): StageContext {
  const pairs = Array.isArray(options.context) ? options.context : [];
  const given = pairs.map((pair) => {
    const [, key, value] = /^([^=\s]+)=(.*)$/s.exec(pair) ?? [];
    if (key === undefined || value === undefined)
      throw usage(`--context takes key=value, such as alarmEmail=you@example.com, not ${pair}`);
    return [key, value] as const;
  });
  const context = { stage: "dev", ...remembered, ...Object.fromEntries(given) };
  return { ...context, stage: text(options.stage) ?? context.stage };
}

/** Refuses to overwrite another gateway's token that is still valid: it may be the only copy. */
async function checkFile(file: string, { gateway }: ConfigFile, stage: string, url: string): Promise<void> {
  if (!gateway?.url || !gateway.token || gateway.url === url) return;
  if (!(await isTaken(gateway.url, gateway.token))) return;
  throw new Failure(
    "config",
    `gsv-${stage} is deployed, but ${file} holds the token of another gateway, ${gateway.url}; ${fileOfItsOwn(file, stage)}`,
  );
}

/**
 * Advice to use a second config file beside the first, outside the checkout, so that no token is committed.
 */
function fileOfItsOwn(file: string, stage: string): string {
  const option = `--config ${join(dirname(file), `${stage}.toml`)}`;
  return `run \`gsv deploy --stage ${stage} ${option}\`, and give ${option} to every command that means ${stage}`;
}

/**
 * Sets the AWS environment variables that both the CDK and the SDK read. Only the CDK reads
 * AWS_DEFAULT_REGION.
 */
function chooseAccount(profile: string | undefined, region: string | undefined): void {
  // This program checks the Node version itself.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= "true";
  if (profile !== undefined) process.env.AWS_PROFILE = profile;
  const chosen = region ?? (process.env.AWS_REGION || process.env.AWS_DEFAULT_REGION);
  if (chosen) {
    process.env.AWS_REGION = chosen;
    process.env.AWS_DEFAULT_REGION = chosen;
  }
}

/** Checks credentials, region and network with one read. The table may not exist. */
async function checkCredentials(stage: string): Promise<void> {
  try {
    await openDynamoDBTable(`gsv-${stage}`).get({ pk: "-", sk: "-" });
  } catch (error) {
    const { name, message } = error as Error;
    // These errors mean that the credentials are valid. The deployment checks the permissions.
    if (
      name === "ResourceNotFoundException" ||
      name === "AccessDeniedException" ||
      name === "ValidationException"
    )
      return;
    if (/region is missing/i.test(message))
      throw new Failure("aws-region", "no AWS region is set; pass --region, or set AWS_REGION");
    if (name === "CredentialsProviderError" || /credential/i.test(message))
      throw new Failure(
        "aws-credentials",
        "no AWS credentials were found; pass --profile, set AWS_PROFILE or AWS_ACCESS_KEY_ID, or sign in with `aws sso login`",
      );
    if (/UnrecognizedClient|InvalidSignature|ExpiredToken|InvalidClientTokenId/.test(name))
      throw new Failure(
        "aws-credentials",
        `AWS refuses these credentials (${name}); renew them or choose another --profile`,
      );
    throw new Failure(
      "aws",
      `AWS cannot be reached: ${failureOf(error).message}; check the network and --region`,
    );
  }
}

async function deployStack(
  context: Context,
  { stage, ...others }: StageContext,
  yes: boolean,
  runStep: Run,
): Promise<Outputs> {
  const folder = await mkdtemp(join(tmpdir(), "gsv-deploy-"));
  const file = join(folder, "outputs.json");
  try {
    const approval = yes ? "never" : "broadening";
    const args = ["deploy", `gsv-${stage}`, "-c", `stage=${stage}`, "--outputs-file", file];
    // An empty value removes a setting of the config file.
    for (const [key, value] of Object.entries(others)) if (value !== "") args.push("-c", `${key}=${value}`);
    await runStep(join(root, "node_modules/.bin/cdk"), [...args, "--require-approval", approval], context);
    const written: Record<string, Partial<Outputs>> = JSON.parse(await readFile(file, "utf8"));
    const { WebSocketUrl, WebhookUrl, TableName } = written[`gsv-${stage}`] ?? {};
    if (WebSocketUrl && WebhookUrl && TableName) return { WebSocketUrl, WebhookUrl, TableName };
    throw new Failure(
      "outputs",
      `the stack gsv-${stage} names no address; see its outputs in CloudFormation`,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The token of the config file if this gateway accepts it; otherwise a new one with all scopes. */
async function tokenFor(context: Context, settings: Settings, outputs: Outputs): Promise<string> {
  const known = settings.url?.value === outputs.WebSocketUrl ? settings.token?.value : undefined;
  if (known !== undefined && (await isTaken(outputs.WebSocketUrl, known))) {
    context.note("    the one in the config file is still good");
    return known;
  }
  const table = openDynamoDBTable(outputs.TableName);
  const name = freeName(machineId(hostname()), await listTokens(table));
  const created = await createToken(table, { name, scopes: [...scopes] }, Date.now());
  context.note(`    created ${created.id} (${name}: ${created.scopes.join(", ")})`);
  return created.token;
}

/** What to do when the stack is deployed, but the deployer may not use its table. */
function withoutTableRights(stage: string, table: string): Failure {
  return new Failure(
    "aws-table",
    `gsv-${stage} is deployed, but these credentials may not make its first token: allow them dynamodb:Query and ` +
      `dynamodb:PutItem on the table ${table}, then run \`gsv deploy --stage ${stage}\` again; or ask somebody who ` +
      "has an owner's token for one, by `gsv token create`, and save it with `gsv init`",
  );
}

/** Writes the agent's first files. The deployment counts as done without them too. */
async function writeFirstFiles(context: Context, url: string, token: string): Promise<void> {
  try {
    const gateway = await openGateway(url, token);
    try {
      const { written } = await gateway.request("agent.init", {});
      if (written.length > 0) context.note(`    the agent's first files: ${written.join(", ")}`);
    } finally {
      await gateway.close();
    }
  } catch (error) {
    const { message } = failureOf(error);
    context.note(`    the agent's first files are not written (${message}); run \`gsv agent init\` later`);
  }
}

/** The wanted name, with a number behind it when another token has it. */
function freeName(wanted: string, tokens: readonly TokenEntry[]): string {
  const taken = new Set(tokens.map((token) => token.name.toLowerCase()));
  let name = wanted;
  for (let next = 2; taken.has(name); next++) name = `${wanted}-${next}`;
  return name;
}

async function isTaken(url: string, token: string): Promise<boolean> {
  try {
    await (await openGateway(url, token)).close();
    return true;
  } catch {
    return false;
  }
}

function run(command: string, args: string[], { terminal }: Context): Promise<void> {
  return new Promise((resolve, reject) => {
    // Standard output is for this command's result. The output of the steps goes to standard error.
    const child = spawn(command, args, {
      cwd: root,
      stdio: ["inherit", 2, 2],
      env: { ...terminal.env, ...process.env },
    });
    child.once("error", reject);
    child.once("exit", (status, signal) => {
      if (status === 0) return resolve();
      const how = status === null ? `was ended by ${signal}` : `failed with exit code ${status}`;
      reject(
        new Failure(
          "deploy",
          `${[command.split("/").pop(), args[0]].join(" ")} ${how}; see its messages above`,
        ),
      );
    });
  });
}
