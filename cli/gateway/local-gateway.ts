import { type Dev, type DevOptions, GatewayRunsError, startDev } from "../../local/dev/dev.ts";
import { chooseModel, isOffline, type ModelChoice } from "../../local/dev/dev-model.ts";
import type { ModelSettings } from "../../local/dev/dev-state.ts";
import { PortInUseError } from "../../local/http/http-endpoint.ts";
import { CloudStartError } from "../../local/machine.ts";
import { formatPath } from "../../shared/configuration/configuration-paths.ts";
import { defaults } from "../../shared/configuration/defaults.ts";
import { Failure, usage } from "../app/failure.ts";
import { folderText } from "./data-folder.ts";

/**
 * Starts the local gateway of a data folder. Waits up to 10 seconds while another command uses the folder.
 * @throws Failure that states why the gateway cannot start
 */
export async function startLocal(dir: string, options: Omit<DevOptions, "dir">): Promise<Dev> {
  for (const deadline = Date.now() + 10_000; ; ) {
    try {
      return await startDev({ dir, ...options });
    } catch (error) {
      const isBusy = error instanceof CloudStartError && / is in use by /.test(error.message);
      if (!isBusy || Date.now() > deadline) throw explained(error, dir, options.port, isBusy);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

function explained(error: unknown, dir: string, port: number | undefined, isBusy: boolean): unknown {
  if (error instanceof GatewayRunsError) {
    const folder = folderText(dir, { cwd: process.cwd(), env: process.env });
    const another = folder === ".gsv" ? "" : ", `gsv dev --data .gsv` starts another one here";
    const message = `a gateway is already running in ${folder} (pid ${error.pid}); \`gsv client\` connects to it${another}`;
    return new Failure("running", message);
  }
  if (error instanceof PortInUseError)
    return new Failure("port", `port ${port} is in use; choose another with --port`);
  if (error instanceof CloudStartError) {
    const remedy = isBusy ? "stop that process, or choose another folder" : "choose another folder";
    return new Failure("data-folder", `${error.message}; ${remedy} with --data`);
  }
  return error;
}

/** The model in use, and a user-readable reason. */
export interface ModelInUse {
  settings: ModelSettings;
  because: string;
}

/**
 * Configures the model that the environment selects (`choice`). A model named in the environment always wins.
 * A model derived from an API key does not replace one that the user configured. Without a choice, the
 * built-in offline model replaces the default model.
 */
export async function configureModel(dev: Dev, choice: ModelChoice | undefined): Promise<ModelInUse> {
  const { model: configured } = await dev.configuration.load();
  const isReplaceable =
    isSame(configured, defaults.model) || isSame(configured, dev.model) || isOffline(configured);
  if (choice !== undefined) {
    if (choice.apiKey) await dev.configuration.set(`apiKeys.${choice.settings.provider}`, choice.apiKey);
    const { baseUrl } = choice.settings;
    if (choice.isFree && baseUrl !== undefined) await makeFree(dev, choice.settings, baseUrl);
    if (choice.named || isReplaceable) return use(dev, choice.settings, configured, choice.because);
  } else if (isSame(configured, defaults.model) || isOffline(configured)) {
    const settings = await dev.offlineModel();
    await makeFree(dev, settings, priceName(settings));
    const because = "built in: rules, not a language model; no network, no key";
    return use(dev, settings, configured, because);
  }
  return { settings: configured, because: "as configured" };
}

const priceName = ({ provider, id }: ModelSettings) => `${provider}/${id}`;

/**
 * Writes that a model costs nothing, unless it has a price: otherwise its calls would count with an estimate.
 * @param name the model's in the price list, or the address of a server all of whose models are free
 */
async function makeFree({ configuration }: Dev, settings: ModelSettings, name: string): Promise<void> {
  const { prices } = (await configuration.load()).budgets;
  if (Object.hasOwn(prices, name) || Object.hasOwn(prices, priceName(settings))) return;
  await configuration.set(formatPath(["budgets", "prices", name]), { input: 0, output: 0 });
}

async function use(
  dev: Dev,
  settings: ModelSettings,
  configured: ModelSettings,
  because: string,
): Promise<ModelInUse> {
  if (!isSame(settings, configured)) await dev.configuration.set("model", settings);
  if (!isSame(settings, dev.model)) await dev.recordModel(settings);
  return { settings, because };
}

/**
 * The model that the environment variables select; undefined when they select none.
 * @throws Failure (usage) when the variables contradict each other
 */
export function chosenModel(env: Record<string, string | undefined>): ModelChoice | undefined {
  try {
    return chooseModel(env);
  } catch (error) {
    throw usage((error as Error).message);
  }
}

function isSame(one: ModelSettings, other: ModelSettings | undefined): boolean {
  return one.provider === other?.provider && one.id === other.id && one.baseUrl === other.baseUrl;
}
