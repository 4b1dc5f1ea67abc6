import { spawn } from "node:child_process";
import type { Terminal } from "./terminal.ts";

/** Opens an http or https address in the browser of the person at this terminal. @returns false where there is none, and when it fails */
export async function openInBrowser(terminal: Terminal, url: string): Promise<boolean> {
  return hasBrowser(terminal) && startBrowser(terminal, url);
}

/** Whether a browser would show its window to the person at this terminal. */
function hasBrowser({ env, stdout }: Terminal): boolean {
  if (stdout.isTTY !== true || env.SSH_CONNECTION || env.SSH_TTY) return false;
  if (env.BROWSER || process.platform !== "linux") return true;
  return Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
}

/** Starts the browser of the environment, or the system's. @returns false if it cannot be started or fails */
function startBrowser({ env }: Terminal, url: string): Promise<boolean> {
  const systems: Partial<Record<NodeJS.Platform, string[]>> = {
    darwin: ["open"],
    win32: ["rundll32", "url.dll,FileProtocolHandler"],
  };
  const [program = "", ...args] = env.BROWSER ? [env.BROWSER] : (systems[process.platform] ?? ["xdg-open"]);
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  return new Promise((resolve) => {
    child.once("error", () => resolve(false));
    child.once("exit", (status) => resolve(status === 0));
    // A browser that runs in the foreground ends later.
    setTimeout(() => resolve(true), 2000).unref();
    child.unref();
  });
}
