import type { Action, CommandEntry } from "../../app/program.ts";
import { bashScript, fishScript, zshScript } from "./completion-scripts.ts";
import { completionWords } from "./completion-words.ts";

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** Prints the script that has a shell complete the words of `entries`. */
export function printCompletion(shell: keyof typeof scripts, entries: readonly CommandEntry[]): Action {
  return async (context) => {
    const script = scripts[shell](completionWords(entries));
    context.printExactly({ shell, script }, script);
  };
}
