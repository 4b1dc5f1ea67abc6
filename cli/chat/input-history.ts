import { appendFile, chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

const most = 1000;

/**
 * What was typed in earlier chats, newest first, at most 1000 lines. The file is cut to that when it has grown to twice
 * as much; it is readable by its owner alone.
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

/** Adds one line. A history that cannot be written is no reason to disturb a chat: that fault is silent. */
export async function addToHistory(file: string, line: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await appendFile(file, `${line}\n`, { mode: 0o600 });
    await chmod(file, 0o600);
  } catch {
    return;
  }
}
