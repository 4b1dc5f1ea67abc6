import { appendFile, chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

const most = 1000;

/**
 * Reads the input lines of earlier chats, newest first, at most 1000. A file above 2000 lines is cut to the
 * newest 1000. A file that cannot be read is an empty history.
 */
export async function readHistory(file: string): Promise<string[]> {
  let lines: string[];
  try {
    lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
  } catch {
    return [];
  }
  if (lines.length > 2 * most) await writeFile(file, `${lines.slice(-most).join("\n")}\n`, { mode: 0o600 });
  return lines.slice(-most).reverse();
}

/**
 * Appends one line to the history file (mode 600). Write errors are ignored: the chat works without a
 * history.
 */
export async function addToHistory(file: string, line: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await appendFile(file, `${line}\n`, { mode: 0o600 });
    await chmod(file, 0o600);
  } catch {
    return;
  }
}
