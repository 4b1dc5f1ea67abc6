import {
  type PlatformCall,
  type PlatformReply,
  type PlatformServer,
  startPlatformServer,
} from "../platforms/platform-server.ts";

/** Words with the same meaning here. */
const synonyms = [
  ["car", "automobile", "vehicle"],
  ["dog", "puppy", "hound"],
  ["doctor", "physician"],
  ["vegetable", "aubergine"],
  ["dislike", "hate"],
];

const maxTexts = 2048;
const numbers = 300;

export interface EmbeddingsServer extends PlatformServer {
  /** The texts of each accepted request. */
  texts: string[][];
}

/**
 * A server on 127.0.0.1 that makes vectors, under `{url}/v1`: each meaning is a direction, so words with the same
 * meaning give the same vector. Each model has its own directions (reference:
 * https://platform.openai.com/docs/api-reference/embeddings/create).
 */
export async function startEmbeddingsServer(
  /** Returns a reply that replaces the vectors, or undefined. */
  instead: (texts: string[]) => PlatformReply | undefined | Promise<PlatformReply | undefined> = () =>
    undefined,
): Promise<EmbeddingsServer> {
  const texts: string[][] = [];
  const vectorOf = createVectors();
  const server = await startPlatformServer(async (call) => {
    const asked = read(call);
    if ("status" in asked) return asked;
    texts.push(asked.input);
    const reply = await instead(asked.input);
    if (reply) return reply;
    const data = asked.input.map((text, index) => ({
      object: "embedding",
      index,
      embedding: vectorOf(asked.model, text),
    }));
    return { status: 200, body: { object: "list", data: data.reverse(), model: asked.model } };
  });
  return { ...server, texts };
}

/** Makes vectors of texts: each meaning is a direction, which depends on the model. */
export function createVectors(): (model: string, text: string) => number[] {
  const models = new Map<string, Map<string, number>>();
  const directionOf = (model: string, word: string) => {
    const directions = models.get(model) ?? new Map<string, number>();
    models.set(model, directions);
    const known = directions.get(meaningOf(word)) ?? directions.size % numbers;
    directions.set(meaningOf(word), known);
    return known;
  };
  return (model, text) => {
    const vector = new Array<number>(numbers).fill(0);
    for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
      const direction = directionOf(model, word);
      vector[direction] = (vector[direction] ?? 0) + 0.1;
    }
    return vector;
  };
}

const meaningOf = (word: string): string => synonyms.find((words) => words.includes(word))?.[0] ?? word;

function read({ method, path, body }: PlatformCall): { input: string[]; model: string } | PlatformReply {
  if (method !== "POST" || path !== "/v1/embeddings") return fault(404, "Invalid URL");
  const { input, model, encoding_format: format } = body ?? {};
  if (typeof model !== "string" || model === "") return fault(400, "you must provide a model parameter");
  if (!Array.isArray(input) || input.length === 0 || input.length > maxTexts)
    return fault(400, "'$.input' is invalid");
  if (!input.every((text) => typeof text === "string" && text !== ""))
    return fault(400, "'$.input' is invalid");
  if (format !== "float") return fault(400, "encoding_format: not supported");
  return { input, model };
}

function fault(status: number, message: string): PlatformReply {
  return { status, body: { error: { message, type: "invalid_request_error", param: null, code: null } } };
}
