import { resolve } from "node:path";
import type { Address } from "../gateway/address.ts";
import type { Gateway } from "../gateway/gateway-client.ts";
import type { GlobalOptions } from "./options.ts";
import type { Settings } from "./settings.ts";
import type { Terminal } from "./terminal.ts";

/**
 * What every command gets: its surroundings, its settings, the gateway, and the one way to print a result. Settings and
 * gateway are loaded when a command asks for them: help needs neither.
 */
export class Context {
  readonly terminal: Terminal;
  readonly flags: GlobalOptions;
  #settings: Promise<Settings> | undefined;
  #address: Promise<Address> | undefined;
  #gateway: Promise<Gateway> | undefined;

  constructor(terminal: Terminal, flags: GlobalOptions) {
    this.terminal = terminal;
    this.flags = flags;
  }

  get json(): boolean {
    return this.flags.json === true;
  }

  /** The local gateway's folder that was asked for, or where one would be. */
  get dataFolder(): string {
    return resolve(this.terminal.cwd, this.flags.data ?? ".gsv");
  }

  settings(): Promise<Settings> {
    this.#settings ??= import("./settings.ts").then(({ readSettings }) =>
      readSettings(this.flags, this.terminal),
    );
    return this.#settings;
  }

  /**
   * Where the gateway is. `mayStart`: a local gateway that is not running but has data is started until the command
   * ends.
   */
  address(mayStart = false): Promise<Address> {
    this.#address ??= import("../gateway/address.ts").then(async ({ findGateway }) =>
      findGateway(this, await this.settings(), mayStart),
    );
    return this.#address;
  }

  /** The connection to the gateway; it is closed when the command ends. `mayStart` as in `address`. */
  gateway(mayStart = true): Promise<Gateway> {
    this.#gateway ??= import("../gateway/gateway-client.ts").then(async ({ openGateway }) => {
      const { url, token } = await this.address(mayStart);
      return openGateway(url, token);
    });
    return this.#gateway;
  }

  /** Prints the command's result: `value` with --json, else the text. */
  print(value: unknown, text: string): void {
    const line = this.json ? JSON.stringify(value) : text;
    if (line !== "") this.terminal.stdout.write(line.endsWith("\n") ? line : `${line}\n`);
  }

  /** Tells the user something that is not the result. */
  note(text: string): void {
    this.terminal.stderr.write(`${text}\n`);
  }

  async close(): Promise<void> {
    const [gateway] = await Promise.allSettled([this.#gateway]);
    if (gateway.status === "fulfilled") await gateway.value?.close();
    const [address] = await Promise.allSettled([this.#address]);
    if (address.status === "fulfilled") await address.value?.close?.();
  }
}
