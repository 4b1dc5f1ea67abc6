import { join } from "node:path";
import { type IPty, spawn } from "@lydell/node-pty";
import { screenOf, type TerminalScreen, type TerminalSize } from "./terminal-screen.ts";

const program = join(import.meta.dirname, "../../../cli/bin.mjs");

/** Where a program runs, and the size of its terminal. */
export interface PseudoTerminalOptions extends TerminalSize {
  /** The working directory, which is also the home. */
  cwd: string;
  /** Added to a small environment without keys of providers. NO_COLOR is not set. */
  env?: Record<string, string>;
}

const running = new Set<IPty>();

/** Kills programs left by a failed test. */
export function killTerminals(): void {
  for (const pty of running) pty.kill("SIGKILL");
}

/** The environment of a program at a terminal. */
export function terminalEnvironment({ cwd, env }: PseudoTerminalOptions): Record<string, string | undefined> {
  return { PATH: process.env.PATH, HOME: cwd, LANG: "C.UTF-8", ...env };
}

/** Starts a program at a new terminal, with job control, raw mode and sizes as in any terminal. */
export function startAtTerminal(
  command: string,
  args: readonly string[],
  options: PseudoTerminalOptions,
): TerminalScreen {
  const { cwd, columns = 80, rows = 24 } = options;
  const pty = spawn(command, [...args], {
    name: "xterm-256color",
    cols: columns,
    rows,
    cwd,
    env: terminalEnvironment(options),
  });
  running.add(pty);
  const exited = new Promise<number>((resolve) => {
    pty.onExit(({ exitCode }) => {
      running.delete(pty);
      resolve(exitCode);
    });
  });
  return screenOf(
    {
      onData: (handler) => pty.onData(handler),
      write: (keys) => pty.write(keys),
      resize: (newColumns, newRows) => pty.resize(newColumns, newRows),
      exited,
    },
    options,
  );
}

/** Starts `gsv` at a new terminal. */
export function startGsvAtTerminal(args: readonly string[], options: PseudoTerminalOptions): TerminalScreen {
  return startAtTerminal(process.execPath, [program, ...args], options);
}

/**
 * Starts a shell with job control at a new terminal, with `gsv` as a command: for Ctrl-Z, `fg` and `jobs`. Its prompt
 * is `$ `.
 */
export function startShellAtTerminal(options: PseudoTerminalOptions): TerminalScreen {
  const shell = startAtTerminal("/bin/sh", ["-i"], {
    ...options,
    env: { PS1: "$ ", NODE: process.execPath, GSV: program, ...options.env },
  });
  shell.type('gsv() { "$NODE" "$GSV" "$@"; }\r');
  return shell;
}
