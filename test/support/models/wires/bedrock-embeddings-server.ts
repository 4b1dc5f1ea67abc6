import * as v from "valibot";
import {
  type PlatformCall,
  type PlatformReply,
  type PlatformServer,
  startPlatformServer,
} from "../../platforms/platform-server.ts";
import { createVectors } from "../embeddings-server.ts";

const text = v.pipe(v.string(), v.minLength(1));

/** Bodies that the models accept, from their page in Bedrock's user guide. */
const cohereBody = v.strictObject({
  texts: v.pipe(v.array(v.pipe(text, v.maxLength(2048))), v.maxLength(96)),
  input_type: v.picklist(["search_query", "search_document"]),
  embedding_types: v.tuple([v.literal("float")]),
  output_dimension: v.optional(v.picklist([256, 512, 1024, 1536])),
});
const titanBody = v.strictObject({
  inputText: text,
  dimensions: v.optional(v.picklist([256, 512, 1024])),
});

export const bedrockKey = "bedrock-api-key";

export interface BedrockEmbeddingsServer extends PlatformServer {
  /** The bodies of the accepted requests, by model. */
  asked: { model: string; body: object }[];
}

/** The embedding models of Amazon Bedrock's InvokeModel on 127.0.0.1, for texts. */
export async function startBedrockEmbeddings(): Promise<BedrockEmbeddingsServer> {
  const asked: { model: string; body: object }[] = [];
  const vectorOf = createVectors();
  const server = await startPlatformServer((call) => {
    const model = decodeURIComponent(/^\/model\/([^/]+)\/invoke$/.exec(call.path)?.[1] ?? "");
    const refusal = refusalOf(call, model);
    if (refusal) return refusal;
    const isCohere = model.includes("cohere.");
    const parsed = v.safeParse(isCohere ? cohereBody : titanBody, call.body);
    if (!parsed.success) return fault(400, `Malformed input request: ${parsed.issues[0].message}`);
    const body = parsed.output;
    asked.push({ model, body });
    if ("inputText" in body) {
      const embedding = vectorOf(model, body.inputText).slice(0, body.dimensions);
      return { status: 200, body: { embedding, embeddingsByType: { float: embedding } } };
    }
    const vectors = body.texts.map((one) => vectorOf(model, one).slice(0, body.output_dimension));
    return { status: 200, body: { id: "1", embeddings: { float: vectors }, texts: body.texts } };
  });
  return { ...server, asked };
}

function refusalOf({ method, headers }: PlatformCall, model: string): PlatformReply | undefined {
  if (method !== "POST" || model === "") return fault(404, "no such operation");
  if (headers.authorization === `Bearer ${bedrockKey}`) return undefined;
  return fault(403, "Authentication failed: Please make sure your API Key is valid.");
}

function fault(status: number, message: string): PlatformReply {
  return { status, body: { message } };
}
