import type { FunctionLog } from "./host.ts";

type Write = typeof process.stdout.write;

/**
 * Sends what functions write to standard output and error to the log instead, as Lambda does; what the process
 * writes itself goes where it always went.
 * @param currentFunction the function on whose behalf the code runs now, if any
 * @returns the way to end it
 */
export function captureOutput(currentFunction: () => string | undefined, log: FunctionLog): () => void {
  const releases = [process.stdout, process.stderr].map((stream) => {
    const original = stream.write;
    const write: Write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
      const name = currentFunction();
      if (name === undefined) return original.call(stream, chunk, ...(rest as []));
      const text = typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
      for (const line of text.split("\n")) if (line !== "") log(name, line);
      for (const callback of rest) if (typeof callback === "function") queueMicrotask(() => callback());
      return true;
    };
    stream.write = write;
    return () => {
      if (stream.write === write) stream.write = original;
    };
  });
  return () => {
    for (const release of releases) release();
  };
}
