import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newFolder } from "../support/run/test-folders.ts";

/** A fake Python that has every package and prints the given answers. */
export async function pythonThat(answers: string): Promise<string> {
  const file = join(newFolder(), "python");
  await writeFile(file, `#!/bin/sh\ncase "$2" in import*) exit 0;; esac\n${answers}\n`);
  await chmod(file, 0o755);
  return file;
}
