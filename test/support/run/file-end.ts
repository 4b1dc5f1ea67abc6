import { afterAll, vi } from "vitest";
import { removeFolders } from "./test-folders.ts";

// Runs before each test file. The next file runs in the same process with the same loaded modules, so what this one
// replaces is put back at its end: the environment, the globals, the clock and the spies. This hook is registered first, so
// it runs after the hooks of the file, which end what uses the folders.
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
