import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { defaults } from "../../shared/configuration/defaults.ts";
import { type Configuration, findFault } from "../../shared/configuration/schema.ts";
import { secretMarker } from "../../shared/configuration/secret.ts";
import { createFindEmbedder, type FindEmbedder } from "../../shared/recall/vectors/embedder.ts";
import { setLogOutput } from "../../shared/runtime/log.ts";
import { newBook } from "../support/payment.ts";
import { startState } from "../support/state.ts";
import { measure } from "./measure.ts";
import { readOwnSet } from "./own-set.ts";
import { readQuestionSet } from "./question-set.ts";

const usage = `Measures how well search finds what was said, without a model and without the network.

  npm run bench:recall -- [--json] [--embeddings URL --model M] [FILE]

  --json             one line of JSON on standard output; percentages, times in ms, memory in MiB
  --embeddings URL   measures with vectors that this server makes: it gets all texts and questions
  --model M          the model that makes them, such as nomic-embed-text
  --dimensions N     numbers of a vector that are kept: 256 without it
  --question-prefix, --text-prefix TEXT   put before questions and messages, for models that expect it
  FILE               conversations and questions in the format of docs/search.md; without it, the project's own set
  --help             this text

GSV_EMBEDDINGS_KEY in the environment is the server's key, if it needs one.`;

const options = {
  json: { type: "boolean" },
  help: { type: "boolean" },
  embeddings: { type: "string" },
  model: { type: "string" },
  dimensions: { type: "string" },
  "question-prefix": { type: "string" },
  "text-prefix": { type: "string" },
} as const;

/** How long the server may take for sixteen texts, in milliseconds. */
const patience = 120_000;

async function main(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  if (values.help) return console.log(usage);
  setLogOutput((line) => console.error(line));
  const [file] = positionals;
  const set = file === undefined ? await readOwnSet() : readQuestionSet(await readFile(file, "utf8"));
  const state = await startState();
  try {
    const figures = await measure(set, state, embedderOf(values));
    if (values.json) return console.log(JSON.stringify(figures));
    for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(16)}${value}`);
  } finally {
    await state.close();
  }
}

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>["values"];

/** What makes vectors, by the gateway's own code; undefined without a server. @throws Error, one line */
function embedderOf(values: Values): FindEmbedder | undefined {
  const { embeddings: baseUrl, model, dimensions = "256" } = values;
  if (baseUrl === undefined) return undefined;
  const apiKey = process.env.GSV_EMBEDDINGS_KEY;
  const given = {
    ...{ baseUrl, model, dimensions: Number(dimensions) },
    ...(values["question-prefix"] ? { questionPrefix: values["question-prefix"] } : {}),
    ...(values["text-prefix"] ? { textPrefix: values["text-prefix"] } : {}),
    ...(apiKey ? { apiKey: secretMarker } : {}),
  };
  const configuration = { ...defaults, memory: { ...defaults.memory, embeddings: given } };
  const fault = findFault(configuration);
  if (fault) throw new Error(`${fault.path.at(-1)}: ${fault.reason}`);
  if (model === undefined) throw new Error("--model: name the model that makes the vectors");
  return createFindEmbedder({
    configuration: { load: async () => configuration as Configuration },
    secrets: { get: async () => apiKey },
    book: newBook({ enabled: false }),
    now: Date.now,
    limits: { question: patience, text: patience },
  });
}

await main(process.argv.slice(2)).catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
