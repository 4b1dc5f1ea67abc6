import { afterAll, vi } from "vitest";
import { removeFolders } from "./test-folders.ts";

// Runs before each test file. The next file runs in the same process with the same loaded modules, so the environment,
// the globals, the clock and the spies are restored at the end. This hook is registered first, so it runs after the
// file's hooks, which stop the users of the folders.
const environment = process.env;
const before = { ...environment };

afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  process.env = environment;
  for (const name of Object.keys(environment)) if (!(name in before)) delete environment[name];
  Object.assign(environment, before);
  removeFolders();
});
