import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import type { ConditionFailed, PreconditionFailed, World } from "../../../shared/world/world.ts";
import type { Release } from "./present.ts";

/** The previous release's code in one file (`store-previous.ts`). `npm run simulate` runs in the root of the project. */
export const previousFile = join("test", "simulate", "release", "previous.mjs.br");

type Exports = Omit<Release, "name" | "worldOf" | "modelOf"> & {
  ConditionFailed: typeof ConditionFailed;
  PreconditionFailed: typeof PreconditionFailed;
};

let loaded: Promise<Release> | undefined;

/** Loads the previous release once. */
export function loadPrevious(): Promise<Release> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<Release> {
  // Inside the project, so that it finds the packages.
  const file = join(process.cwd(), "dist", "simulate", "previous.mjs");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, brotliDecompressSync(readFileSync(previousFile)));
  const exports = (await import(pathToFileURL(file).href)) as Exports;
  return { ...exports, name: "previous", worldOf: (world) => withErrors(world, exports), modelOf: withTotal };
}

/** A world whose failed conditions are errors of the release's own classes, by which it recognizes them. */
function withErrors(world: World, { ConditionFailed, PreconditionFailed }: Exports): World {
  const own = (error: unknown) => {
    if (!(error instanceof Error)) return error;
    if (error.name === "ConditionFailed") return new ConditionFailed();
    return error.name === "PreconditionFailed" ? new PreconditionFailed(error.message) : error;
  };
  const mapped = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(from, name) {
        const value: unknown = Reflect.get(from, name);
        if (typeof value !== "function") return value;
        return (...given: unknown[]) =>
          (value(...given) as Promise<unknown>).catch((error: unknown) => {
            throw own(error);
          });
      },
    });
  return { ...world, table: mapped(world.table), bucket: mapped(world.bucket) };
}

/** The previous release stores the total of a reply's cost. */
const withTotal: Release["modelOf"] = (callModel) => async (call) => {
  const outcome = await callModel(call);
  if (outcome.status !== "answered" || !outcome.message.usage) return outcome;
  const { usage } = outcome.message;
  const cost = typeof usage.cost === "object" ? usage.cost.total : 0;
  return { ...outcome, message: { ...outcome.message, usage: { ...usage, cost } } };
};
