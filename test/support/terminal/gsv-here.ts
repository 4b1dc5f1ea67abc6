import { closeSync, constants, openSync } from "node:fs";
import { ReadStream, WriteStream } from "node:tty";
import { type IPty, spawn } from "@lydell/node-pty";
import { main } from "../../../cli/app/main.ts";
import { type PseudoTerminalOptions, terminalEnvironment } from "./pseudo-terminal.ts";
import { screenOf, type TerminalScreen } from "./terminal-screen.ts";

/** Running programs, by the function that stops each. */
const running = new Map<() => void, Promise<number>>();

/** Stops programs left by a failed test, and waits for their end. */
export async function leaveTerminals(): Promise<void> {
  for (const leave of running.keys()) leave();
  await Promise.allSettled(running.values());
}

/**
 * Runs `gsv` in this process at a real terminal, with raw mode and echo, but without signals and size changes, which
 * the system sends only to processes. Starting a process takes a third of a second of CPU time.
 */
export function runGsvAtTerminal(args: readonly string[], options: PseudoTerminalOptions): TerminalScreen {
  const { cwd, columns = 80, rows = 24 } = options;
  const env = { ...terminalEnvironment(options), TERM: "xterm-256color" };
  // The terminal exists as long as this program, which first prints its name.
  const holder = spawn("/bin/sh", ["-c", "tty; exec sleep 1000"], { cols: columns, rows, env });
  const closed = new Promise<void>((resolve) => holder.onExit(() => resolve()));
  let leave = () => {};
  const run = async () => {
    const ends = openEnds(await nameOf(holder));
    leave = () => ends.stdin.emit("end");
    try {
      return await main(args, { ...ends, stderr: ends.stdout, env, cwd });
    } finally {
      ends.stdin.destroy();
      ends.stdout.destroy();
      holder.kill();
      await closed;
      running.delete(leaveThis);
    }
  };
  const leaveThis = () => leave();
  const exited = run();
  running.set(leaveThis, exited);
  let isNamed = false;
  return screenOf(
    {
      onData: (handler) =>
        holder.onData((data) => {
          if (isNamed) handler(data);
          isNamed = true;
        }),
      write: (keys) => holder.write(keys),
      resize: () => {
        throw new Error("a program in this process cannot receive a new size");
      },
      exited,
    },
    options,
  );
}

function nameOf(holder: IPty): Promise<string> {
  return new Promise((resolve) => {
    const { dispose } = holder.onData((data) => {
      dispose();
      resolve(data.trim());
    });
  });
}

/** The streams with which a program reads from and writes to a terminal. */
function openEnds(terminal: string): { stdin: ReadStream; stdout: WriteStream } {
  const ends = [0, 1].map(() => openSync(terminal, constants.O_RDWR | constants.O_NOCTTY));
  const [read = 0, written = 0] = ends;
  const streams = { stdin: new ReadStream(read), stdout: new WriteStream(written) };
  // Each stream opens the terminal again for itself.
  for (const end of ends) closeSync(end);
  return streams;
}
