import { defineConfig } from "vitest/config";

const shared = { pool: "forks", testTimeout: 30_000, hookTimeout: 60_000 } as const;

export default defineConfig({
  test: {
    projects: [
      { test: { ...shared, name: "unit", include: ["test/**/*.test.ts"], exclude: ["test/e2e/**"] } },
      {
        test: {
          ...shared,
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/support/bundles.ts"],
          testTimeout: 60_000,
        },
      },
    ],
  },
});
