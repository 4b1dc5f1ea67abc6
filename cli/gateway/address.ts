import { readGatewayFile, runningGateway } from "../../local/dev/dev-state.ts";
import { Failure } from "../app/failure.ts";
import type { GlobalOptions } from "../app/options.ts";
import type { Settings } from "../app/settings.ts";
import { folderText, isForeign } from "./data-folder.ts";

/**
 * Address and token of a gateway, and where they were found. `close` stops a gateway started for this
 * command.
 */
export interface Address {
  url: string;
  token: string;
  source: string;
  close?(): Promise<void>;
}

/** The inputs of `findGateway`. */
export interface GatewaySearch {
  flags: GlobalOptions;
  /** Data folder of the local gateway. It may not exist. */
  dataFolder: string;
  terminal: { cwd: string; env: Record<string, string | undefined> };
}

/**
 * Finds the gateway: the one in flags, environment or config file; otherwise the local gateway of the data
 * folder. With `mayStart`, a stopped local gateway is started for this command.
 * @throws Failure when there is no gateway, or no token for it
 */
export async function findGateway(
  search: GatewaySearch,
  settings: Settings,
  mayStart: boolean,
): Promise<Address> {
  const { dataFolder, flags } = search;
  const folder = folderText(dataFolder, search.terminal);
  const passedOver = flags.data === undefined && isForeign(dataFolder);
  const running = passedOver ? undefined : await runningGateway(dataFolder);
  const { url, token } = settings;
  if (url !== undefined && flags.data === undefined) {
    const known = token?.value ?? (running?.url === url.value ? running.token : undefined);
    if (known === undefined)
      throw new Failure(
        "config",
        `no token for ${url.value}; pass --token, set GSV_TOKEN, or run \`gsv init\``,
      );
    return { url: url.value, token: known, source: url.source };
  }
  if (running !== undefined) {
    return {
      url: running.url,
      token: flags.token ?? running.token,
      source: `${folder} (running, pid ${running.pid})`,
    };
  }
  if (passedOver)
    throw new Failure(
      "config",
      `the local gateway of ${folder} belongs to another user; --data ${folder} uses it, if you trust that user`,
    );
  const stopped = (await readGatewayFile(dataFolder)) !== undefined;
  if (stopped && mayStart) return startHere(search, folder);
  if (stopped)
    throw new Failure(
      "config",
      `the local gateway of ${folder} is not running; start it with \`gsv dev\` or \`npm start\``,
    );
  if (flags.data !== undefined)
    throw new Failure(
      "config",
      `${folder} holds no local gateway; start one there with \`gsv dev --data ${flags.data}\``,
    );
  throw new Failure(
    "config",
    "no gateway is configured; run `gsv init` to use one you have, `gsv deploy` to make one, or `gsv dev` to try it here",
  );
}

async function startHere(search: GatewaySearch, folder: string): Promise<Address> {
  const { startLocal } = await import("./local-gateway.ts");
  const dev = await startLocal(search.dataFolder, { passive: true });
  return {
    url: dev.url,
    token: search.flags.token ?? dev.token,
    source: `${folder} (started for this command)`,
    close: () => dev.close(),
  };
}
