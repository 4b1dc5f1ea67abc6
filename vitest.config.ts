import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/run/longest-first.ts";
import { lateOptimization } from "./test/support/run/node-options.ts";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    // The files that a worker runs one after the other share its loaded modules; `file-end.ts` puts back what a file
    // replaced in the process. Loading them again for each file takes as long as many of the tests.
    isolate: false,
    globalSetup: ["test/support/run/builds.ts"],
    setupFiles: ["test/support/run/failed-logs.ts", "test/support/run/file-end.ts"],
    // Fewer collections of short-lived garbage: a tenth of a worker's time with the default of 16 MB. Code that was not used
    // for a while stays compiled: a later file uses it again.
    execArgv: [
      "--max-semi-space-size=64",
      "--min-semi-space-size=64",
      "--no-flush-bytecode",
      "--single-threaded-gc",
      ...lateOptimization,
    ],
    // Modules of Node and of packages are imported as Node imports them. A way that mixes in the default export costs one of
    // twenty seconds of a worker: it is asked at each use of an import.
    deps: { interopDefault: false },
    // A busy machine takes many times what a quiet one does.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    silent: "passed-only",
    // Two more than the cores of a small machine: many tests wait, for a lease or a schedule.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
  },
});
