import { computed, signal } from "@preact/signals";
import type { AccountStatus, PairEntry } from "../../shared/protocol/channel-accounts.ts";
import type { McpServerEntry } from "../../shared/protocol/mcp.ts";
import type { BudgetState } from "../../shared/protocol/usage.ts";
import type { PageConnection } from "../wire/page-connection.ts";
import type { WireError } from "../wire/wire-error.ts";

/** A budget is shown when this share of it is used. */
const nearlyUsed = 0.8;

/** How often it is read while the page is in view, ms. */
const readMs = 60_000;
/** How often the gateway is asked about accounts of messengers, ms: it asks each messenger. */
const readChannelsMs = 10 * 60_000;

type Connection = Pick<PageConnection, "request" | "state">;

/** An account of a messenger. */
type ChannelAccount = AccountStatus & { channel: string };

/** What waits for the user besides requests for approval, as it was read last. */
export class WaitingItems {
  /** People who wrote to a messenger account and may not write yet. */
  readonly senders = signal<PairEntry[]>([]);
  /** Budgets that are nearly or completely used. */
  readonly budgets = signal<BudgetState[]>([]);
  /** MCP servers at which nobody has logged in yet, or whose login is over. */
  readonly servers = signal<McpServerEntry[]>([]);
  /** Accounts of messengers that do not work. */
  readonly channels = signal<ChannelAccount[]>([]);
  /** Why something could not be read. */
  readonly fault = signal("");
  readonly count = computed(() =>
    [this.senders, this.budgets, this.servers, this.channels].reduce(
      (sum, { value }) => sum + value.length,
      0,
    ),
  );
  readonly #connection: Connection;
  #channelsReadAt = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Reads again what the gateway knows, and accounts of messengers when that was ten minutes ago. What cannot be read stays as
   * it was. @param isWhole accounts of messengers in any case
   */
  async read(isWhole = false): Promise<void> {
    const isDue = isWhole || Date.now() - this.#channelsReadAt >= readChannelsMs;
    const reading = Promise.all([this.#readOwn(), isDue && this.#readChannels()]);
    this.fault.value = await reading.then(
      () => "",
      (error: WireError) => error.message,
    );
  }

  /**
   * Reads again every minute: no event reports a sender, or a login that is over.
   * @param isInView whether somebody may look at the page
   * @returns a function that ends it
   */
  watch(isInView: () => boolean): () => void {
    const timer = setInterval(() => {
      if (isInView() && this.#connection.state.status === "connected") void this.read();
    }, readMs);
    return () => clearInterval(timer);
  }

  /** What the gateway knows itself. */
  async #readOwn(): Promise<void> {
    const request = this.#connection.request.bind(this.#connection);
    const [senders, budgets, servers] = await Promise.all([
      request("pair.list"),
      request("budget.list"),
      request("mcp.list"),
    ]);
    this.senders.value = Object.values(senders.pairs);
    this.budgets.value = budgets.rules.filter(isNearlyUsed);
    this.servers.value = await this.#needingLogin(servers.servers);
  }

  async #readChannels(): Promise<void> {
    this.#channelsReadAt = Date.now();
    const { channels } = await this.#connection.request("channels.list");
    const names = [...new Set(channels.map(({ channel }) => channel))];
    const all = await Promise.all(
      names.map((channel) => this.#connection.request("channel.status", { channel })),
    );
    this.channels.value = all
      .flatMap(({ channel, accounts }) => accounts.map((account) => ({ channel, ...account })))
      .filter(({ error, extra }) => error !== undefined && !extra.stopped);
  }

  /** Asks the servers whose tools are not known: one may need a login, or may not answer. */
  async #needingLogin(servers: McpServerEntry[]): Promise<McpServerEntry[]> {
    const enabled = servers.filter((server) => server.enabled);
    const needs = await Promise.all(
      enabled.map(async ({ name, tools, needsLogin }) => {
        if (needsLogin || tools !== undefined) return needsLogin;
        const probe = await this.#connection.request("mcp.probe", { name }).catch(() => undefined);
        return probe?.needsLogin;
      }),
    );
    return enabled.filter((_, index) => needs[index]);
  }
}

/** The largest amount that is used of a budget: a rule may count each agent or channel for itself. */
export function usedAmount({ used = [] }: BudgetState): number {
  return Math.max(0, ...used.map(({ amount }) => amount));
}

function isNearlyUsed(rule: BudgetState): boolean {
  return usedAmount(rule) >= nearlyUsed * rule.limit;
}
