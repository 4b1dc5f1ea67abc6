import { isPassing, plainReason } from "../../http/platform-call.ts";

/** A server that computes embedding vectors. */
export interface EmbeddingsServer {
  baseUrl: string;
  model: string;
  apiKey?: string;
  /** How many of a vector's first numbers are stored; in most models they carry the most information. */
  dimensions: number;
}

/** Some models distinguish questions from texts that may answer them. */
export type Purpose = "question" | "text";

/** The answer to a request for vectors. */
export type VectorsAnswer =
  /** `tokens`: as the server reports them. */
  | { ok: true; vectors: Int8Array[]; tokens?: number }
  /** `passing`: the server may answer later. `mayBeBilled`: it may have computed vectors. */
  | { ok: false; reason: string; passing: boolean; mayBeBilled?: true };

/** Requests the vectors of texts from a server, one for each, in order. Does not throw. */
export type AskForVectors = (
  server: EmbeddingsServer,
  texts: readonly string[],
  purpose: Purpose,
  timeoutMs: number,
) => Promise<VectorsAnswer>;

/** The vectors of an answer, if it has one for each text. @param found in the order of the texts */
export function vectorsAnswer(
  found: readonly (readonly number[] | undefined)[],
  dimensions: number,
  tokens?: number,
): VectorsAnswer {
  const vectors = found.flatMap((numbers) => vectorOf(numbers, dimensions) ?? []);
  const [first] = vectors;
  if (vectors.length === found.length && vectors.every(({ length }) => length === first?.length))
    return { ok: true, vectors, ...(tokens === undefined ? {} : { tokens }) };
  const reason = "the answer does not have a vector for each text";
  return { ok: false, reason, passing: false, mayBeBilled: true };
}

/** The answer for a request that the server did not answer in time. */
export function unanswered(reason: string): VectorsAnswer {
  return { ok: false, reason, passing: true, mayBeBilled: true };
}

/** The answer for a refused request, with the server's reason if it gave one. */
export function refusedAnswer(
  status: number,
  said: string | undefined,
  apiKey: string | undefined,
): VectorsAnswer {
  const reason = plainReason(`${status} ${said ?? "without a reason"}`, apiKey);
  return { ok: false, reason, passing: isPassing(status) };
}

/** The first numbers of a vector as integers from -127 to 127. Undefined for a zero or invalid vector. */
function vectorOf(numbers: readonly number[] | undefined, dimensions: number): Int8Array | undefined {
  const kept = numbers?.slice(0, dimensions) ?? [];
  const largest = kept.reduce((max, number) => Math.max(max, Math.abs(number)), 0);
  if (!(largest > 0) || !Number.isFinite(largest)) return undefined;
  return Int8Array.from(kept, (number) => Math.round((127 * number) / largest));
}
