import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/run/longest-first.ts";

const shared = {
  pool: "forks" as const,
  // The files of a project that a worker runs one after the other share its loaded modules; `file-end.ts` puts back
  // what a file replaced in the process. Loading them again for each file takes as long as many of the tests.
  isolate: false,
  setupFiles: ["test/support/run/failed-logs.ts", "test/support/run/file-end.ts"],
  // Fewer collections of short-lived garbage: a tenth of a worker's time with the default of 16 MB.
  execArgv: ["--max-semi-space-size=64", "--single-threaded-gc"],
  // A busy machine takes many times what a quiet one does.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 60_000 } },
};

export default defineConfig({
  test: {
    silent: "passed-only",
    // More than the cores of a small machine: many tests wait, for a lease or a schedule.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/e2e/**"],
          globalSetup: ["test/support/run/cli-build.ts"],
        },
      },
      {
        test: {
          ...shared,
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/support/run/bundles.ts", "test/support/run/cli-build.ts"],
        },
      },
    ],
  },
});
