import { absent } from "../../../shared/world/expression.ts";
import { type Bucket, ConditionFailed, PreconditionFailed, type Table } from "../../../shared/world/world.ts";

/** Partition of the table that represents the bucket. An object's key is the sort key. */
export const bucketPartition = "BUCKET";

const etag = "etag";

/**
 * The bucket as items of the check's table, so its calls wait, fail and are repeated like those of the table. An
 * archive is a JSON list of its messages. It has only the methods that archiving, resets and compactions need.
 * @param whileLocal does work that needs no answer of the check, but more than one turn of the event loop
 */
export function bucketOver(table: Table, whileLocal: <T>(work: Promise<T>) => Promise<T>): Partial<Bucket> {
  const key = (sk: string) => ({ pk: bucketPartition, sk });
  return {
    async putStream(name, stream) {
      const lines = await whileLocal(linesOf(stream));
      const body = `[${lines.join(",")}]`;
      try {
        await table.put({ ...key(name), body }, absent("pk"));
        return etag;
      } catch (error) {
        throw error instanceof ConditionFailed ? new PreconditionFailed(name) : error;
      }
    },
    async head(name) {
      const item = await table.get(key(name));
      return item && { contentType: "application/gzip", metadata: {}, etag, lastModified: 0 };
    },
    async delete(name) {
      await table.delete(key(name));
    },
    async list(prefix) {
      const items = await table.query({ pk: bucketPartition, prefix });
      const objects = items.map(({ sk }) => ({ key: String(sk), size: 0, lastModified: 0, etag }));
      return { objects, prefixes: [] };
    },
  };
}

/** The lines of an archive. The check does not compress it: see `replaceGlobals`. */
async function linesOf(stream: AsyncIterable<Uint8Array>): Promise<string[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  return text.split("\n").filter((line) => line !== "");
}
