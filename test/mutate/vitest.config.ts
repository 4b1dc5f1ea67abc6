import { relative } from "node:path";
import picomatch from "picomatch";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { KeptThread } from "./kept-thread.ts";

/** The test files as globs, starting with those that detect the most. */
const include: string[] = JSON.parse(process.env.GSV_MUTATE_TESTS ?? "[]");

class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      include.findIndex((glob) => picomatch(glob)(relative(process.cwd(), moduleId)));
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}

/** The test run of one mutant. */
export default defineConfig({
  plugins: [
    {
      name: "kept-thread",
      // Stryker asks for threads; its option cannot be changed before this point.
      configureVitest({ project }) {
        project.config.pool = "kept-thread";
        project.config.poolRunner = {
          name: "kept-thread",
          createPoolWorker: (options) => new KeptThread(options),
        };
      },
    },
  ],
  test: {
    include,
    sequence: { sequencer: InOrder },
    // Test files share their loaded modules, as in `npm test`: loading them takes longer than most of the tests.
    isolate: false,
    setupFiles: ["test/support/run/failed-logs.ts", "test/support/run/file-end.ts"],
    deps: { interopDefault: false },
    // Only the first run, without a mutant, may take this long: Stryker ends a run by its own limit.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    expect: { poll: { timeout: 4_000 } },
    silent: true,
  },
});
