import { afterAll, afterEach, beforeEach } from "vitest";

// Runs before each test file. The code under test logs thousands of lines to standard output. They are printed only if
// a test fails.
const write = process.stdout.write;
const lines: string[] = [];

process.stdout.write = (line: string | Uint8Array, ...rest: unknown[]): boolean => {
  lines.push(String(line));
  const written = rest.at(-1);
  if (typeof written === "function") process.nextTick(written);
  return true;
};

beforeEach(() => {
  lines.length = 0;
});

afterEach(({ task }) => {
  if (task.result?.state === "fail") write.call(process.stdout, lines.join(""));
});

afterAll(() => {
  process.stdout.write = write;
});
