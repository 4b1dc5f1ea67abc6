import type { Stryker } from "@stryker-mutator/core";

type MutantResult = Awaited<ReturnType<Stryker["runMutationTest"]>>[number];

/** A mutant that no test detected. `isCovered`: whether a test runs its code. */
export interface Survivor {
  file: string;
  line: number;
  mutator: string;
  replacement: string;
  isCovered: boolean;
}

export interface FolderScore {
  folder: string;
  /** Detected mutants as a percentage of those that are valid and not static. */
  score: number;
  noticed: number;
  mutants: number;
  survivors: Survivor[];
}

/** Omits mutants that do not run, and static ones (in tables and patterns, which are evaluated once). */
export function scoreOf(folder: string, results: readonly MutantResult[]): FolderScore {
  const noticed = results.filter(({ status }) => status === "Killed" || status === "Timeout").length;
  const missed = results.filter(({ status }) => status === "Survived" || status === "NoCoverage");
  const mutants = noticed + missed.length;
  return {
    folder,
    score: mutants === 0 ? 100 : Math.round((noticed / mutants) * 1000) / 10,
    noticed,
    mutants,
    survivors: missed.map(({ fileName, location, mutatorName, replacement, status }) => ({
      file: fileName,
      line: location.start.line,
      mutator: mutatorName,
      replacement: (replacement ?? "").replace(/\s+/g, " ").slice(0, 80),
      isCovered: status === "Survived",
    })),
  };
}

/** Prints the scores, with a line for each survivor. */
export function lines(scores: readonly FolderScore[]): string {
  const survivor = ({ file, line, mutator, replacement, isCovered }: Survivor) =>
    `  ${file}:${line} ${mutator} ${replacement}${isCovered ? "" : " (no test runs this)"}`;
  return scores
    .flatMap(({ folder, score, noticed, mutants, survivors }) => [
      `${folder} ${score} % (${noticed} of ${mutants} mutants noticed)`,
      ...survivors.map(survivor),
    ])
    .map((line) => `${line}\n`)
    .join("");
}
