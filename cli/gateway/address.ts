import type { Dev } from "../../local/dev/dev.ts";
import { readGatewayFile, runningGateway } from "../../local/dev/dev-state.ts";
import { Failure } from "../app/failure.ts";
import type { GlobalOptions } from "../app/options.ts";
import type { Settings } from "../app/settings.ts";
import { fill, type Trouble } from "../app/template.ts";
import { folderText, isForeign } from "./data-folder.ts";

/** Why no gateway is found. */
export const gatewayTroubles = {
  unconfigured: {
    symptom: "no gateway is configured",
    cause: "No flag, environment variable, config file or `.gsv` folder names a gateway.",
    remedy: "run `gsv init` to use one you have, `gsv deploy` to make one, or `gsv dev` to try it here",
  },
  noToken: {
    symptom: "no token for {url}",
    remedy: "pass --token, set GSV_TOKEN, or run `gsv init`",
  },
  stopped: {
    symptom: "the local gateway of {folder} is not running",
    cause: "A local gateway runs only while `gsv dev` does.",
    remedy: "start it with `gsv dev` or `npm start`",
  },
  absent: {
    symptom: "{folder} holds no local gateway",
    remedy: "start one there with `gsv dev --data {data}`",
  },
  foreign: {
    symptom: "the local gateway of {folder} belongs to another user",
    cause: "A gateway can run commands on this machine, so gsv does not use another user's by default.",
    remedy: "to use it anyway, pass --data {folder}",
  },
} as const satisfies Record<string, Trouble>;

function failureFor(
  name: keyof typeof gatewayTroubles,
  values: { url: string; folder: string; data: string },
): Failure {
  const { symptom, remedy } = gatewayTroubles[name];
  return new Failure("config", `${fill(symptom, values)}; ${fill(remedy, values)}`);
}

/**
 * Address and token of a gateway, and where they were found. `close` stops a gateway started for this
 * command.
 */
export interface Address {
  url: string;
  token: string;
  source: string;
  close?(): Promise<void>;
  /** Creates a token with the scope admin, for a gateway started for this command. */
  createAdmin?: Dev["createAdmin"];
}

/** The inputs of `findGateway`. */
interface GatewaySearch {
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
  const skipped = flags.data === undefined && isForeign(dataFolder);
  const running = skipped ? undefined : await runningGateway(dataFolder);
  const { url, token } = settings;
  const values = { url: "", folder, data: flags.data ?? folder };
  if (url !== undefined && flags.data === undefined) {
    const known = token?.value ?? (running?.url === url.value ? running.token : undefined);
    if (known === undefined) throw failureFor("noToken", { ...values, url: url.value });
    return { url: url.value, token: known, source: url.source };
  }
  if (running !== undefined) {
    return {
      url: running.url,
      token: flags.token ?? running.token,
      source: `${folder} (running, pid ${running.pid})`,
    };
  }
  if (skipped) throw failureFor("foreign", values);
  const stopped = (await readGatewayFile(dataFolder)) !== undefined;
  if (stopped && mayStart) return startHere(search, folder);
  if (stopped) throw failureFor("stopped", values);
  throw failureFor(flags.data === undefined ? "unconfigured" : "absent", values);
}

async function startHere(search: GatewaySearch, folder: string): Promise<Address> {
  const { startLocal } = await import("./local-gateway.ts");
  const dev = await startLocal(search.dataFolder, { passive: true });
  return {
    url: dev.url,
    token: search.flags.token ?? dev.token,
    source: `${folder} (started for this command)`,
    close: () => dev.close(),
    createAdmin: () => dev.createAdmin(),
  };
}
