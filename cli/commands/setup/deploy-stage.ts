import { dirname, join } from "node:path";
import { configuredRegion, openAccount } from "../../../shared/aws/account-state.ts";
import type { ConfigFile } from "../../app/config-file.ts";
import type { Context } from "../../app/context.ts";
import { usage } from "../../app/failure.ts";
import { neededCheckout } from "../../app/installation.ts";
import { type Invocation, text } from "../../app/options.ts";
import { runShown } from "../program/run-program.ts";

/** Runs a program until it exits, with its output on standard error. Rejects with a Failure when it fails. */
export type Run = (command: string, args: string[], context: Context) => Promise<void>;

/** The stage and its other settings, as CDK context values. */
export type StageContext = Record<string, string> & { stage: string };

/** Merges the context values of the config file with those of the command line, which take precedence. */
export function chooseContext(
  { deploy: remembered }: ConfigFile,
  options: Invocation["options"],
): StageContext {
  const pairs = Array.isArray(options.context) ? options.context : [];
  const given = pairs.map((pair) => {
    const [, key, value] = /^([^=\s]+)=(.*)$/s.exec(pair) ?? [];
    if (key === undefined || value === undefined)
      throw usage(`--context must be key=value, such as alarmEmail=you@example.com, not ${pair}`);
    return [key, value] as const;
  });
  const context = { stage: "dev", ...remembered, ...Object.fromEntries(given) };
  const stage = text(options.stage) ?? context.stage;
  if (!/^[a-z][a-z0-9-]{0,19}$/.test(stage))
    throw usage(
      `a stage has at most 20 characters of a-z, 0-9 and -, and begins with a letter, not ${stage}`,
    );
  return { ...context, stage };
}

/**
 * Advice to use a second config file next to the first, outside the checkout, so that no token is committed.
 */
export function fileOfItsOwn(file: string, stage: string): string {
  const option = `--config ${join(dirname(file), `${stage}.toml`)}`;
  return `run \`gsv deploy --stage ${stage} ${option}\`, and pass ${option} to every command for ${stage}`;
}

/** Runs the CDK of this project, and tells it the account's limit of functions. @throws Failure when it fails */
export async function runCdk(
  runStep: Run,
  args: readonly string[],
  { stage, ...others }: StageContext,
  context: Context,
): Promise<void> {
  const settings = ["-c", `stage=${stage}`];
  const executions = others.concurrentExecutions || (await readExecutions());
  const all = { ...others, ...(executions && { concurrentExecutions: executions }) };
  // An empty value removes a setting of the config file.
  for (const [key, value] of Object.entries(all)) if (value !== "") settings.push("-c", `${key}=${value}`);
  return runStep(
    join(neededCheckout("gsv deploy"), "node_modules/.bin/cdk"),
    [...args, ...settings],
    context,
  );
}

/** The account's limit of concurrent executions. Undefined if it cannot be read: the stack then assumes the lowest. */
async function readExecutions(): Promise<string | undefined> {
  try {
    const account = openAccount((await configuredRegion()) ?? "", process.env.AWS_ENDPOINT_URL);
    return String(await account.concurrentExecutions());
  } catch {
    return undefined;
  }
}

/** Runs a program of this project, with its output on standard error. */
export function run(command: string, args: string[], { terminal }: Context): Promise<void> {
  const env = { ...terminal.env, ...process.env };
  return runShown(command, args, { env, cwd: neededCheckout("gsv deploy"), kind: "deploy" });
}
