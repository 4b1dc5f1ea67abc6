import { readdir } from "node:fs/promises";
import type { AutocompleteItem, AutocompleteProvider, AutocompleteSuggestions } from "@earendil-works/pi-tui";
import { drawable } from "../../app/text-width.ts";
import { pathOf } from "./file-mentions.ts";

/** Max number of suggested files. */
const maxFiles = 200;

/** A slash command without its slash, and its description. */
export interface CompletedCommand {
  word: string;
  does: string;
}

const startedCommand = /^\s*(\/[\w?-]*)$/;
const startedMention = /(?:^|\s)(@(?:"[^"]*|[^\s"]*))$/;

/** The word before the cursor that can be completed: a `/word` at the start of the message, or an `@file`. */
export function startedWord(before: string, isFirstLine: boolean): string | undefined {
  return (isFirstLine ? startedCommand.exec(before)?.[1] : undefined) ?? startedMention.exec(before)?.[1];
}

/** Suggests slash commands and files, for the editor's Tab key. */
export class Completion implements AutocompleteProvider {
  readonly #commands: readonly CompletedCommand[];
  readonly #folder: string;
  readonly #home: string | undefined;
  /** Whether to return suggestions. The editor also asks for them at other keys than Tab. */
  wanted = false;

  constructor(commands: readonly CompletedCommand[], folder: string, home: string | undefined) {
    this.#commands = commands;
    this.#folder = folder;
    this.#home = home;
  }

  async getSuggestions(
    lines: string[],
    line: number,
    column: number,
  ): Promise<AutocompleteSuggestions | null> {
    if (!this.wanted) return null;
    const prefix = startedWord((lines[line] ?? "").slice(0, column), line === 0);
    if (prefix === undefined) return null;
    const items = prefix.startsWith("/") ? this.commands(prefix) : await this.#files(prefix);
    return items.length === 0 ? null : { items, prefix };
  }

  applyCompletion(
    lines: string[],
    line: number,
    column: number,
    { value }: AutocompleteItem,
    prefix: string,
  ) {
    const text = lines[line] ?? "";
    const isWhole = !value.endsWith("/");
    const after = text.slice(column).replace(isWhole ? /^ / : /^$/, "");
    const start = text.slice(0, column - prefix.length) + value + (isWhole ? " " : "");
    return {
      lines: lines.map((other, index) => (index === line ? start + after : other)),
      cursorLine: line,
      cursorCol: start.length,
    };
  }

  /** The commands that start with `prefix`, which starts with a slash. */
  commands(prefix: string): AutocompleteItem[] {
    return this.#commands
      .map(({ word, does }) => ({ value: `/${word}`, label: `/${word}`, description: does }))
      .filter(({ value }) => value.startsWith(prefix.toLowerCase()));
  }

  /** The entries that `@path` is a prefix of. Hidden entries only when its last part starts with a dot. */
  async #files(prefix: string): Promise<AutocompleteItem[]> {
    const path = prefix.replace(/^@"?/, "");
    const parent = path.slice(0, path.lastIndexOf("/") + 1);
    const start = path.slice(parent.length);
    const entries = await readdir(pathOf(parent || ".", this.#folder, this.#home), {
      withFileTypes: true,
    }).catch(() => []);
    return entries
      .filter(({ name }) => name.startsWith(start) && (start !== "" || !name.startsWith(".")))
      .filter(({ name }) => drawable(name) === name)
      .map((entry) => parent + entry.name + (entry.isDirectory() ? "/" : ""))
      .sort((one, other) => (one < other ? -1 : 1))
      .slice(0, maxFiles)
      .map((name) => ({ value: mentionOf(name), label: name }));
  }
}

/** A mention of a path, quoted when it contains blanks. A folder's quotes stay open, for the names that follow. */
function mentionOf(path: string): string {
  if (!/\s/.test(path)) return `@${path}`;
  return path.endsWith("/") ? `@"${path}` : `@"${path}"`;
}
