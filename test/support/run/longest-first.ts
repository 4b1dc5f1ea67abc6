import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take longest, longest first. What they take on the machine does not matter, only what else waits. */
const longest = [
  "e2e/faults/kill",
  "e2e/reset",
  "e2e/faults/connection-limits",
  "e2e/newcomer/readme",
  "e2e/channels/channels",
  "e2e/roles",
  "e2e/media",
  "e2e/queue",
  "e2e/faults/outages",
  "e2e/faults/node-loss",
  "conformance/lease",
  "world/endpoint/contracts",
  "session/archive",
  "aws/emulators/cloud",
  "cli/launch/launch",
  "agent/compaction/compaction-crash",
  "cli/commands/setup/dev-command",
  "simulate/simulate",
  "world/bucket",
  "cli/commands/session/client-terminal",
  "local/items/table-kill",
  "infra/stages",
  "channels/killed-with-file",
  "agent/compaction/long-conversation",
  "agent/reset-killed",
  "aws/emulators/dynamodb/dynamodb-differential",
  "cli/chat/terminal/editing",
];

/** Whether a test file runs the functions' bundles. */
export function isEndToEnd(path: string): boolean {
  return path.includes("/test/e2e/");
}

/**
 * Starts the files that take longest first, so that no worker is left alone with one at the end. A fresh clone has no
 * times of an earlier run to go by. End-to-end tests and others take turns from the start: those wait for most, so that
 * these have the cores meanwhile.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return place >= 0 ? place : longest.length;
    };
    const sorted = files.toSorted((a, b) => rank(a) - rank(b));
    const endToEnd = sorted.filter(({ moduleId }) => isEndToEnd(moduleId));
    const others = sorted.filter(({ moduleId }) => !isEndToEnd(moduleId));
    const inTurns = endToEnd.flatMap((file, index) => [file, ...others.slice(index, index + 1)]);
    return [...inTurns, ...others.slice(endToEnd.length)];
  }
}
