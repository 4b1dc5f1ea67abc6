import { existsSync, readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Stryker } from "@stryker-mutator/core";
import picomatch from "picomatch";
import { testsOf } from "./folders.ts";
import { type FolderScore, lines, scoreOf } from "./score.ts";

const usage = `npm run mutate -- [options] [FOLDER…]
  FOLDER       ${Object.keys(testsOf).join(", ")} (default: all), or a file in one of them
  --json       the scores and the survivors as JSON
  --sample N   one in N of the methods and declarations, always the same ones (default: all)
  --again      test every mutant again (default: only those whose code or tests changed)`;

const dir = "dist/mutation";

/** The mutated folder that contains a path of the command line. */
function folderOf(path: string): string {
  const folder = Object.keys(testsOf).find((one) => path === one || path.startsWith(`${one}/`));
  if (folder && existsSync(path)) return folder;
  throw new Error(`${path} is not in a mutated folder\n\n${usage}`);
}

/** The globs that the braces of a glob abbreviate. */
function alternatives(glob: string): string[] {
  const [braces = "", names] = /\{([^{}]*)\}/.exec(glob) ?? [];
  if (names === undefined) return [glob];
  return names.split(",").flatMap((name) => alternatives(glob.replace(braces, name)));
}

/** Throws for a glob of `folders.ts` that matches no file: its tests were moved or renamed. */
function checkGlobs(): void {
  const files = readdirSync("test", { recursive: true }).map((file) => `test/${file}`);
  const globs = Object.values(testsOf).flat().flatMap(alternatives);
  const empty = globs.filter((glob) => {
    const isMatch = picomatch(`${glob}.test.ts`);
    return !files.some((file) => isMatch(file));
  });
  if (empty.length > 0) throw new Error(`folders.ts names tests that do not exist: ${empty.join(", ")}`);
}

const nameOf = (path: string) => path.replaceAll("/", "-");

type LogLevel = NonNullable<ConstructorParameters<typeof Stryker>[0]["logLevel"]>;

async function mutate(path: string, { json = false, again = false }): Promise<FolderScore> {
  const folder = folderOf(path);
  // `vitest.config.ts` reads this in the processes that Stryker starts.
  process.env.GSV_MUTATE_TESTS = JSON.stringify(testsOf[folder]?.map((glob) => `${glob}.test.ts`));
  const results = await new Stryker({
    mutate: [path.endsWith(".ts") ? path : `${path}/**/*.ts`],
    plugins: ["@stryker-mutator/vitest-runner", resolve("test/mutate/sample.mjs")],
    ignorers: ["sample"],
    testRunner: "vitest",
    vitest: { configFile: "test/mutate/vitest.config.ts", related: false },
    coverageAnalysis: "perTest",
    ignoreStatic: true,
    mutator: { excludedMutations: ["StringLiteral"] },
    concurrency: 2,
    incremental: true,
    // One for the folder: a run of one file keeps what is known of the others.
    incrementalFile: `${dir}/${nameOf(folder)}.incremental.json`,
    force: again,
    reporters: json ? ["json"] : ["json", "progress-append-only"],
    jsonReporter: { fileName: `${dir}/${nameOf(path)}.report.json` },
    tempDirName: `${dir}/sandbox`,
    ignorePatterns: ["dist", "cdk.out"],
    // Stryker rewrites tsconfig.json with an API that TypeScript 7 lacks. Nothing here reads that file.
    tsconfigFile: "none",
    timeoutMS: 12_000,
    allowConsoleColors: false,
    logLevel: "warn" as LogLevel,
  }).runMutationTest();
  return scoreOf(path, results);
}

async function main(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      json: { type: "boolean" },
      again: { type: "boolean" },
      sample: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help) return void process.stdout.write(`${usage}\n`);
  process.env.GSV_MUTATE_SAMPLE = values.sample ?? "1";
  const paths = positionals.length > 0 ? positionals : Object.keys(testsOf);
  paths.forEach(folderOf);
  checkGlobs();
  await mkdir(dir, { recursive: true });
  const scores: FolderScore[] = [];
  for (const path of paths) {
    const score = await mutate(path, values);
    await writeFile(`${dir}/${nameOf(path)}.json`, `${JSON.stringify(score, null, 2)}\n`);
    scores.push(score);
  }
  process.stdout.write(values.json ? `${JSON.stringify(scores)}\n` : lines(scores));
}

await main(process.argv.slice(2)).catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
});
