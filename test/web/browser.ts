import { existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";

const places = [process.env.GSV_CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"];

/** The program of an installed Chromium; undefined when there is none. */
export const chromiumPath = places.find((path): path is string => path !== undefined && existsSync(path));

/**
 * Options of suites in a browser. It draws when it has time, so a look at the page may come too early: a failed test is
 * repeated once, with a gateway of its own.
 */
export const inBrowser = { retry: 1 };

if (chromiumPath === undefined) {
  const how = "install chromium, or name one in GSV_CHROMIUM";
  if (process.env.GSV_REQUIRE_BROWSER === "1")
    throw new Error(`the tests of the page need a browser: ${how}`);
  process.stderr.write(`the tests of the page in a browser are skipped: ${how}\n`);
}

/** Starts Chromium without a window. Its microphone beeps; pages need the permission to use it. */
export function launchBrowser(): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"];
  const background = ["--disable-background-networking", "--disable-component-update"];
  const devices = ["--use-fake-device-for-media-stream"];
  return chromium.launch({ executablePath: chromiumPath, args: [...args, ...background, ...devices] });
}

/** What went wrong in a page: violations of its policy, errors, and requests to other hosts than this machine. */
export function watchFaults(page: Page): string[] {
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (/Content Security Policy|TrustedHTML|TrustedScript/.test(message.text())) faults.push(message.text());
  });
  page.on("request", (request) => {
    const { protocol, hostname } = new URL(request.url());
    const isOwn = ["blob:", "data:"].includes(protocol) || ["127.0.0.1", "localhost"].includes(hostname);
    if (!isOwn) faults.push(`request: ${request.url()}`);
  });
  return faults;
}

/** For a page before it is loaded: keeps its sockets, so that a test ends them with `endSockets()` in the page. */
export function keepSockets(): void {
  const sockets: WebSocket[] = [];
  class KeptSocket extends WebSocket {
    constructor(url: string) {
      super(url);
      sockets.push(this);
    }
  }
  Object.assign(globalThis, {
    WebSocket: KeptSocket,
    endSockets: () => sockets.splice(0).map((one) => one.close()),
  });
}
