import { defineConfig } from "vitest/config";

const shared = {
  pool: "forks",
  testTimeout: 60_000,
  hookTimeout: 120_000,
  // On a busy machine what comes true takes longer than the second that is the default.
  expect: { poll: { timeout: 15_000 } },
} as const;

export default defineConfig({
  test: {
    silent: "passed-only",
    // More than the cores of a small machine: many tests wait, for a lease or a schedule.
    maxWorkers: 3,
    projects: [
      {
        test: {
          ...shared,
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/e2e/**"],
          globalSetup: ["test/support/cli-build.ts"],
        },
      },
      {
        test: {
          ...shared,
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/support/bundles.ts", "test/support/cli-build.ts"],
          testTimeout: 90_000,
        },
      },
    ],
  },
});
