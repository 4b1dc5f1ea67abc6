import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    // The files that a worker runs one after the other share its loaded modules; `file-end.ts` puts back what a file
    // replaced in the process. Loading them again for each file takes as long as many of the tests.
    isolate: false,
    globalSetup: ["test/support/run/builds.ts"],
    setupFiles: ["test/support/run/failed-logs.ts", "test/support/run/file-end.ts"],
    // A busy machine needs many times as long as a quiet one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    silent: "passed-only",
    // Two more than the cores of a small machine: many tests wait, for a lease or a schedule.
    maxWorkers: 4,
  },
});
