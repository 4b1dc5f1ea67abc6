import { parseArgs } from "node:util";

export const usage = `Deploys a new stage, follows docs/first-hour.md in it, has it answer a thousand messages, counts what AWS bills for, and
deletes everything. It needs AWS credentials and a bootstrapped region, and costs less than a dollar. The model is scripted.

  npm run account -- [--turns N] [--stage NAME] [--region NAME] [--profile NAME] [--keep] [--json]
  npm run account -- --local [--turns N] [--json]

  --turns N       messages to answer, 1 to 8000 (default 1000)
  --stage NAME    name of the new stage (default account- and six digits); it must not exist
  --region NAME   default: as the AWS command line
  --profile NAME  default: as the AWS command line
  --keep          deletes nothing at the end, and prints the command that does
  --local         uses the emulators of this project instead of an account
  --json          one line of JSON on standard output: expectedDollars, steps, turns, counts, dollars, destroyed, …
  --help          this text

Ctrl-C deletes what was made; a second one leaves it. Exit code: 0 when all steps passed and nothing is left, else 1.`;

export interface Options {
  turns: number;
  stage: string;
  region?: string;
  profile?: string;
  keep: boolean;
  local: boolean;
  json: boolean;
  help: boolean;
}

/** Above this number a run could cost a dollar. */
const maxTurns = 8000;

/** @throws Error, one line, for invalid options */
export function readOptions(args: string[], random = Math.random): Options {
  const { values } = parseArgs({
    args,
    options: {
      turns: { type: "string", default: "1000" },
      stage: { type: "string", default: `account-${String(Math.floor(random() * 1e6)).padStart(6, "0")}` },
      region: { type: "string" },
      profile: { type: "string" },
      keep: { type: "boolean", default: false },
      local: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const turns = Number(values.turns);
  if (!Number.isInteger(turns) || turns < 1 || turns > maxTurns)
    throw new Error(`--turns: expected a whole number from 1 to ${maxTurns}`);
  if (!/^[a-z][a-z0-9-]{0,19}$/.test(values.stage))
    throw new Error("--stage: expected at most 20 characters of a-z, 0-9 and -, beginning with a letter");
  if (values.keep && values.local) throw new Error("--keep: the emulators keep nothing; omit --local");
  return { ...values, turns };
}
