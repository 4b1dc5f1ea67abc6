import { existsSync, readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { dirname, join } from "node:path";

const maps = new Map<string, SourceMap | undefined>();

/**
 * The original source of a position in a built file, from the file's source map; undefined without one.
 * @param line and `column`, both counted from 0
 */
export function originOf(file: string, line: number, column: number): string | undefined {
  if (!maps.has(file)) maps.set(file, mapOf(file));
  const entry = maps.get(file)?.findEntry(line, column);
  return entry !== undefined && "originalSource" in entry
    ? join(dirname(file), entry.originalSource)
    : undefined;
}

function mapOf(file: string): SourceMap | undefined {
  if (!existsSync(file)) return undefined;
  const address = /\n\/\/# sourceMappingURL=(\S+)\s*$/.exec(readFileSync(file, "utf8"))?.[1];
  if (address === undefined) return undefined;
  const inline = /^data:application\/json[^,]*;base64,(.*)$/.exec(address)?.[1];
  const beside = join(dirname(file), address);
  if (inline === undefined && !existsSync(beside)) return undefined;
  const json = inline === undefined ? readFileSync(beside, "utf8") : Buffer.from(inline, "base64").toString();
  return new SourceMap(JSON.parse(json) as SourceMapPayload);
}
