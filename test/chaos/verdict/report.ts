import type { ChaosOptions } from "../options.ts";
import type { Setting } from "../setting.ts";
import type { Findings, Verdict } from "./verdict.ts";

/** The result of a mode. */
export interface ChaosResult {
  verdict: Verdict;
  counts: { kills: number; [kind: string]: number };
  /** Invocations whose process exited without a signal. */
  crashes: readonly string[];
  /** Path of the functions' logs, if they were kept. */
  logFile?: string;
}

const maxShown = 40;

/** Prints the result. @returns the exit code: 0 when messages were sent and nothing was found */
export function report(
  { json }: ChaosOptions,
  { seed, clock, say }: Setting,
  { verdict, counts, crashes, logFile }: ChaosResult,
): number {
  const { findings, sessions, sent, answered, unheard, unreached, resent } = verdict;
  const kinds = Object.keys(findings) as (keyof Findings)[];
  for (const kind of kinds) for (const found of findings[kind].slice(0, maxShown)) say(`${kind}: ${found}`);
  for (const one of crashes.slice(0, maxShown)) say(`crash: ${one}`);
  const bad = Object.fromEntries(kinds.map((kind) => [kind, findings[kind].length]));
  const { kills, ...others } = counts;
  const result = {
    kills,
    sessions,
    sent,
    answered,
    ...bad,
    seed,
    speed: clock.speed,
    crashes: crashes.length,
    unheard,
    unreached,
    resent,
    ...others,
  };
  if (sent === 0) say("no message was sent, so nothing was tried: all kills came while peers connected");
  if (logFile) say(`log of the functions: ${logFile}`);
  const lines = Object.entries(result).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  process.stdout.write(json ? `${JSON.stringify(result)}\n` : `${lines.join("\n")}\n`);
  // Nothing is known about a point that was not reached.
  return sent === 0 || crashes.length > 0 || counts.missed || kinds.some((kind) => findings[kind].length > 0)
    ? 1
    : 0;
}
