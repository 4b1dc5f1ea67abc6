import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { type BridgeOptions, DiscordBridge } from "../../cli/bridge/discord-bridge.ts";
import { type Dev, startDev } from "../../local/dev/dev.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import type { ModelRequest, ModelServer, Reply } from "../support/models/scripted-model.ts";
import { type DiscordGateway, startDiscordGateway } from "../support/platforms/discord/discord-gateway.ts";
import { type DiscordServer, startDiscordServer } from "../support/platforms/discord/discord-server.ts";
import { newFolder } from "../support/run/test-folders.ts";

/** A local gateway with a scripted model, and Discord. Each test has its own. */
export class BridgeHouse {
  dev!: Dev;
  model!: ModelServer;
  discord!: DiscordServer;
  gateway!: DiscordGateway;
  options!: BridgeOptions;
  /** Texts that the model was asked about. */
  asked: string[] = [];
  answer: (request: ModelRequest) => Reply | Promise<Reply> = () => ({ text: "" });
  #bridges: DiscordBridge[] = [];

  async start(): Promise<void> {
    this.asked = [];
    this.discord = await startDiscordServer();
    this.gateway = await startDiscordGateway(this.discord);
    this.dev = await startDev({ dir: newFolder() });
    const { configuration, cloud } = this.dev;
    await configuration.set("model", { provider: "openai-compatible", id: "m", baseUrl: this.model.url });
    await configuration.set("apiKeys.openai-compatible", "sk-test");
    await configuration.set("budgets", { enabled: false });
    await configuration.set("channels.discord", { dmPolicy: "open", owners: ["80351110224678912"] });
    const grant = { name: "bridge", scopes: ["channel" as const], channel: "discord", accountId: "default" };
    const { token } = await createToken(cloud.world.table, grant, Date.now());
    this.options = {
      ...{ url: this.dev.url, token, accountId: "default", botToken: this.discord.botToken, version: "1" },
      ...{ stateFile: join(newFolder(), "state.json"), apiBaseUrl: this.discord.url },
    };
  }

  bridge(more: Partial<BridgeOptions> = {}): DiscordBridge {
    const bridge = new DiscordBridge({ ...this.options, ...more });
    this.#bridges.push(bridge);
    return bridge;
  }

  async stopBridges(): Promise<void> {
    await Promise.all(this.#bridges.splice(0).map((bridge) => bridge.stop()));
  }

  async stop(): Promise<void> {
    await this.stopBridges();
    await this.dev.close();
    await this.gateway.close();
    await this.discord.close();
  }
}

/** A house for the tests of the suite that calls it. */
export function bridgeHouse(): BridgeHouse {
  const house = new BridgeHouse();
  beforeAll(async () => {
    house.model = await startOpenAiServer((request) => house.answer(request));
  });
  afterAll(() => house.model.close());
  beforeEach(() => house.start());
  afterEach(() => house.stop());
  return house;
}
