import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.ts";

const shared = {
  pool: "forks" as const,
  // Fewer collections of short-lived garbage: a tenth of a worker's time with the default of 16 MB.
  execArgv: ["--max-semi-space-size=64"],
  // A busy machine takes many times what a quiet one does.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 60_000 } },
};

/** Tests that leave nothing in their process for another file to see: they share its loaded modules. */
const sharing = [
  "test/{configuration,http,peers,protocol,runtime,socket,timer,workspace}/**/*.test.ts",
  // The others of these folders replace what belongs to their process, or measure it.
  "test/session/**/!(archive).test.ts",
  "test/media/**/!(media-store).test.ts",
  "test/agent/**/!(attachments|typing|reset-upload-killed|*bedrock*|model-errors|model).test.ts",
  "test/channels/{inbound,outbound}/**/!(sender|telegram-send|telegram-receive|platform-send|published-shapes).test.ts",
  "test/channels/!(killed*).test.ts",
  "test/cli/{chat,gateway}/**/*.test.ts",
  // Loading the CDK takes longer than these tests.
  "test/infra/**/*.test.ts",
  "test/world/*.test.ts",
  "test/seeds/**/*.test.ts",
  "test/security/**/*.test.ts",
];

export default defineConfig({
  test: {
    silent: "passed-only",
    // More than the cores of a small machine: many tests wait, for a lease or a schedule.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { ...shared, name: "pure", include: sharing, isolate: false } },
      {
        test: {
          ...shared,
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/e2e/**", ...sharing],
          globalSetup: ["test/support/cli-build.ts"],
        },
      },
      {
        test: {
          ...shared,
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          // Each file starts and ends a stack of its own; only the modules are shared.
          isolate: false,
          globalSetup: ["test/support/bundles.ts", "test/support/cli-build.ts"],
        },
      },
    ],
  },
});
