import { resolve } from "node:path";
import type { Address } from "../gateway/address.ts";
import { findDataFolder } from "../gateway/data-folder.ts";
import type { Gateway } from "../gateway/gateway-client.ts";
import type { GlobalOptions } from "./options.ts";
import type { Settings } from "./settings.ts";
import { type Terminal, writeLines, writeText } from "./terminal.ts";

/**
 * The object that every command receives: terminal, flags, settings, gateway connection and result output.
 * Settings are read, and the gateway is connected, on first use.
 */
export class Context {
  readonly terminal: Terminal;
  readonly flags: GlobalOptions;
  #dataFolder: string | undefined;
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

  /**
   * Absolute path of the local gateway's data folder: `--data`, or the `.gsv` that `findDataFolder` finds, from the
   * working directory upwards. It may not exist.
   */
  get dataFolder(): string {
    const { cwd } = this.terminal;
    this.#dataFolder ??= this.flags.data === undefined ? findDataFolder(cwd) : resolve(cwd, this.flags.data);
    return this.#dataFolder;
  }

  settings(): Promise<Settings> {
    this.#settings ??= import("./settings.ts").then(({ readSettings }) =>
      readSettings(this.flags, this.terminal),
    );
    return this.#settings;
  }

  /**
   * Finds the gateway. With `mayStart`, a stopped local gateway that has data is started and runs until the
   * command ends.
   */
  address(mayStart = false): Promise<Address> {
    this.#address ??= import("../gateway/address.ts").then(async ({ findGateway }) =>
      findGateway(this, await this.settings(), mayStart),
    );
    return this.#address;
  }

  /**
   * Connects to the gateway; `close` ends the connection. `mayStart` as in `address`. A method that needs admin rights asks
   * the user for them, once.
   */
  gateway(mayStart = true): Promise<Gateway> {
    this.#gateway ??= this.#connect(mayStart);
    return this.#gateway;
  }

  async #connect(mayStart: boolean): Promise<Gateway> {
    const client = import("../gateway/gateway-client.ts");
    const rights = import("../gateway/admin-rights.ts");
    const { url, token } = await this.address(mayStart);
    const gateway = await (await client).openGateway(url, token);
    const { withAdminRights, openAsAdmin } = await rights;
    return withAdminRights(gateway, (method) => openAsAdmin(this, method));
  }

  /**
   * Prints the command's result to standard output: `value` as JSON with --json, otherwise `text`. A terminal
   * gets long lines wrapped between words.
   */
  print(value: unknown, text: string): void {
    this.#print(value, text, writeLines);
  }

  /** Prints a result as `print` does, without wrapping its lines. For values and the output of commands. */
  printExactly(value: unknown, text: string): void {
    this.#print(value, text, writeText);
  }

  #print(value: unknown, text: string, write: typeof writeLines): void {
    const { stdout } = this.terminal;
    if (this.json) stdout.write(`${JSON.stringify(value)}\n`);
    else if (text !== "") write(stdout, text.endsWith("\n") ? text : `${text}\n`);
  }

  /** Prints a message that is not part of the result, to standard error. */
  note(text: string): void {
    writeLines(this.terminal.stderr, `${text}\n`);
  }

  async close(): Promise<void> {
    const [gateway] = await Promise.allSettled([this.#gateway]);
    if (gateway.status === "fulfilled") await gateway.value?.close();
    const [address] = await Promise.allSettled([this.#address]);
    if (address.status === "fulfilled") await address.value?.close?.();
  }
}
