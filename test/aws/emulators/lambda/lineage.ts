import { createHash, randomBytes } from "node:crypto";

/** Invocations of one function in a chain that Lambda still runs; it stops the chain at the next. */
export const longestChain = 16;

/**
 * The trace header of an invocation that a function asks for: that of the asking function, with the invoked function
 * counted once more. The AWS SDK sends a function's own header with each of its calls.
 * https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
 * @param header X-Amzn-Trace-Id of the request, `Root=…;Parent=…;Sampled=0;Lineage={function's hash}:{count}|…`
 * @returns the header, and how often the function is in the chain by now
 */
export function countInLineage(
  header: string | undefined,
  functionName: string,
): { header: string; count: number } {
  const fields = new Map((header ?? newTrace()).split(";").map(pairOf));
  const lineage = new Map((fields.get("Lineage") ?? "").split("|").filter(Boolean).map(countOf));
  const id = createHash("sha256").update(functionName).digest("hex").slice(0, 8);
  const count = (lineage.get(id) ?? 0) + 1;
  lineage.set(id, count);
  fields.set("Lineage", [...lineage].map(([of, times]) => `${of}:${times}`).join("|"));
  return { header: [...fields].map(([name, value]) => `${name}=${value}`).join(";"), count };
}

function newTrace(): string {
  const startedAt = Math.floor(Date.now() / 1000).toString(16);
  return `Root=1-${startedAt}-${randomBytes(12).toString("hex")};Parent=${randomBytes(8).toString("hex")};Sampled=0`;
}

function pairOf(field: string): [string, string] {
  const [name = "", ...value] = field.split("=");
  return [name, value.join("=")];
}

function countOf(entry: string): [string, number] {
  const [id = "", count] = entry.split(":");
  return [id, Number(count) || 0];
}
