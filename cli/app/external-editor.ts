import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Failure } from "./failure.ts";
import type { Terminal } from "./terminal.ts";

/** The user's editor: `$VISUAL`, else `$EDITOR`, else vi. It may contain arguments. */
export function editorOf({ env }: Pick<Terminal, "env">): string {
  return env.VISUAL || env.EDITOR || "vi";
}

/**
 * Opens a file in the editor and waits until the editor exits. The editor runs in a shell, because `editor` may contain
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
    throw new Failure("editor", `${editor} exited with ${status ?? "a signal"}; nothing was saved`);
}

/**
 * Opens a text in the editor, in a temporary file, and returns the edited text without trailing blanks and line breaks.
 * @throws Failure as `runEditor` does
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
