import { isPassing, plainReason } from "../../http/platform-call.ts";

/** A server that makes vectors. */
export interface EmbeddingsServer {
  baseUrl: string;
  model: string;
  apiKey?: string;
  /** How many numbers of a vector are kept: the first ones, which in most models hold most. */
  dimensions: number;
}

/** Models want to know whether a text is a question or may answer one. */
export type Purpose = "question" | "text";

/** The answer to a request for vectors. */
export type VectorsAnswer =
  | { ok: true; vectors: Int8Array[] }
  /** `passing`: the server may answer later. */
  | { ok: false; reason: string; passing: boolean };

/** Asks a server for the vectors of texts, one for each, in order. Does not throw. */
export type AskForVectors = (
  server: EmbeddingsServer,
  texts: readonly string[],
  purpose: Purpose,
  timeoutMs: number,
) => Promise<VectorsAnswer>;

/** The vectors of an answer, when it holds one for each text. @param found in the order of the texts */
export function vectorsAnswer(
  found: readonly (readonly number[] | undefined)[],
  dimensions: number,
): VectorsAnswer {
  const vectors = found.flatMap((numbers) => vectorOf(numbers, dimensions) ?? []);
  const [first] = vectors;
  if (vectors.length === found.length && vectors.every(({ length }) => length === first?.length))
    return { ok: true, vectors };
  return { ok: false, reason: "the answer holds no vectors of these texts", passing: false };
}

/** A refusal, in the server's words if it has said why. */
export function refusedAnswer(
  status: number,
  said: string | undefined,
  apiKey: string | undefined,
): VectorsAnswer {
  const reason = plainReason(`${status} ${said ?? "without a reason"}`, apiKey);
  return { ok: false, reason, passing: isPassing(status) };
}

/** The first numbers of a vector as whole numbers from -127 to 127. Undefined for one that points nowhere. */
function vectorOf(numbers: readonly number[] | undefined, dimensions: number): Int8Array | undefined {
  const kept = numbers?.slice(0, dimensions) ?? [];
  const largest = kept.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
  if (!(largest > 0) || !Number.isFinite(largest)) return undefined;
  return Int8Array.from(kept, (number) => Math.round((127 * number) / largest));
}
