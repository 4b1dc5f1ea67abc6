import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { setLogOutput } from "../../shared/runtime/log.ts";
import { startState } from "../support/state.ts";
import { measure } from "./measure.ts";
import { readOwnSet } from "./own-set.ts";
import { readQuestionSet } from "./question-set.ts";

const usage = `Measures how well search finds what was said, without a model and without the network.

  npm run bench:recall -- [--json] [FILE]

  --json             one line of JSON on standard output; percentages, times in ms, memory in MiB
  FILE               conversations and questions in the format of docs/search.md; without it, the project's own set
  --help             this text`;

const options = {
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

async function main(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  if (values.help) return console.log(usage);
  setLogOutput((line) => console.error(line));
  const [file] = positionals;
  const set = file === undefined ? await readOwnSet() : readQuestionSet(await readFile(file, "utf8"));
  const state = await startState();
  try {
    const figures = await measure(set, state);
    if (values.json) return console.log(JSON.stringify(figures));
    for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(16)}${value}`);
  } finally {
    await state.close();
  }
}

await main(process.argv.slice(2)).catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
