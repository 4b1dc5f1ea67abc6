import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import type { Terminal } from "../terminal.ts";

/** The user's editor: `$VISUAL`, else `$EDITOR`, else vi. It may hold arguments. */
export function editorOf({ env }: Pick<Terminal, "env">): string {
  return env.VISUAL || env.EDITOR || "vi";
}

/**
 * Has the user edit a file, and resolves when the editor has ended. The editor runs in a shell, because its text may hold
 * arguments; the file name is passed as $1, not interpolated.
 * @throws Failure when the editor cannot be started or fails
 */
export async function runEditor(editor: string, file: string): Promise<void> {
  const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
  const status = await new Promise<number | null>((resolveStatus, reject) => {
    child.once("error", reject);
    child.once("exit", resolveStatus);
  });
  if (status !== 0)
    throw new Failure("editor", `${editor} ended with ${status ?? "a signal"}; nothing was saved`);
}

/**
 * Has the user edit a text in a temporary file, and returns it without line breaks at its end.
 * @throws Failure as `runEditor`
 */
export async function editText(editor: string, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "gsv-edit-"));
  const file = join(folder, "message.md");
  try {
    await writeFile(file, text === "" ? "" : `${text}\n`, { mode: 0o600 });
    await runEditor(editor, file);
    return (await readFile(file, "utf8")).replace(/\s+$/, "");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
