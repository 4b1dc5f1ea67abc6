import { type Profiler, Session } from "node:inspector/promises";
import { round } from "./figures.ts";

/** Whose code a profile's frame is, by where it stands; the first that fits. */
const parts: [name: string, fits: (frame: Profiler.Profile["nodes"][number]["callFrame"]) => boolean][] = [
  ["idle", ({ functionName }) => functionName === "(idle)"],
  ["garbage collector", ({ functionName }) => functionName === "(garbage collector)"],
  ["AWS SDK", ({ url }) => /node_modules\/(@aws-sdk|@smithy|@aws)\//.test(url)],
  ["model client", ({ url }) => /node_modules\/(openai|@earendil-works)\//.test(url)],
  ["other packages", ({ url }) => url.includes("node_modules/")],
  ["this project: functions and shared", ({ url }) => /\/(functions|shared)\//.test(url)],
  ["this project: local cloud", ({ url }) => url.includes("/local/")],
  ["the measurement itself", ({ url }) => url.includes("/test/")],
  ["Node's HTTP, streams and crypto", ({ url }) => url.startsWith("node:")],
  ["native: sockets, threads, JSON", () => true],
];

/** Runs something and tells where the CPU of this thread went: percent of the time that it was not idle, by part. */
export async function profiled(run: () => Promise<void>): Promise<Record<string, number>> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.start");
  await run();
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  return sharesOf(profile);
}

function sharesOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Record<string, number> {
  const partOf = new Map(
    nodes.map(({ id, callFrame }) => [id, parts.find(([, fits]) => fits(callFrame))?.[0] ?? ""]),
  );
  const times = new Map<string, number>();
  for (const [i, sample] of samples.entries()) {
    const part = partOf.get(sample) ?? "";
    times.set(part, (times.get(part) ?? 0) + (timeDeltas[i] ?? 0));
  }
  times.delete("idle");
  const busy = [...times.values()].reduce((sum, time) => sum + time, 0);
  const sorted = [...times].sort(([, a], [, b]) => b - a);
  return Object.fromEntries(sorted.map(([part, time]) => [part, round((100 * time) / busy, 1)]));
}
