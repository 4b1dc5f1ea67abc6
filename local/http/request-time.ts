const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Formats epoch ms as in API Gateway's request contexts: `12/Mar/2020:19:03:58 +0000`. */
export function requestTime(epochMs: number): string {
  const date = new Date(epochMs);
  const day = String(date.getUTCDate()).padStart(2, "0");
  return `${day}/${months[date.getUTCMonth()]}/${date.getUTCFullYear()}:${date.toISOString().slice(11, 19)} +0000`;
}
