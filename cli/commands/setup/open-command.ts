import { spawn } from "node:child_process";
import { code } from "../../../shared/protocol/errors.ts";
import { moment } from "../../app/columns.ts";
import { Failure } from "../../app/failure.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import type { Terminal } from "../../app/terminal.ts";
import { drawQrCode, qrCode } from "./qr-code.ts";

/** Opens the gateway's page with a code, or shows address and code for another device. */
export const openPage: Action = async (context, { options }) => {
  const gateway = await context.gateway(false);
  const { page } = gateway.hello;
  if (page === undefined)
    throw new Failure(
      code.notFound,
      "this gateway has no page yet; update it with `gsv deploy` or `npm start`",
    );
  // The browser is started with it.
  if (!/^https?:\/\/[\w.:-]+$/.test(page))
    throw new Failure(code.badRequest, "the page's address is not valid");
  const isPhone = options.phone === true;
  const created = await gateway.request("code.create", { name: text(options.name), short: isPhone });
  const url = `${page}/#c=${encodeURIComponent(created.code)}`;
  const until = `The code works once, until ${moment(created.expiresAt)}.`;
  const result = { page, url, ...created };
  if (isPhone) {
    const drawn = qrCode(url);
    const picture = drawn ? `${drawQrCode(drawn)}\n\nScan this, or open` : "Open";
    context.printExactly(result, `${picture} ${page} and type ${created.short}\n${until}`);
    if (/^https?:\/\/(?:127\.|localhost)/.test(page))
      context.note(
        "gsv: a phone cannot reach this machine's own address; deploy the gateway, or use a tunnel",
      );
    return;
  }
  const isOpened =
    !context.json && hasBrowser(context.terminal) && (await startBrowser(context.terminal, url));
  context.printExactly(result, isOpened ? `opened ${page}` : `${url}\n${until}`);
};

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
