import type { SeenCall } from "./deployed/latency.ts";

export interface Percentiles {
  p50: number;
  p95: number;
}

export const round = (value: number, digits = 2) => Number(value.toFixed(digits));

export function percentiles(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return { p50: at(0.5), p95: at(0.95) };
}

/** The length of the longest chain of calls, up to a moment, in which each starts after the previous one ended. */
export function sequentialCalls(calls: readonly SeenCall[], from: number, to: number): number {
  const within = calls.filter((call) => call.start >= from && call.end <= to).sort((a, b) => a.end - b.end);
  let count = 0;
  let end = Number.NEGATIVE_INFINITY;
  for (const call of within) {
    if (call.start < end) continue;
    count += 1;
    end = call.end;
  }
  return count;
}

export function byOperation(calls: readonly SeenCall[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { service, operation } of calls) {
    const name = `${service}:${operation}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
