import { computed, signal } from "@preact/signals";
import type { PairEntry } from "../../shared/protocol/channel-accounts.ts";
import type { McpServerEntry } from "../../shared/protocol/mcp.ts";
import type { BudgetState } from "../../shared/protocol/usage.ts";
import type { PageConnection } from "../wire/page-connection.ts";
import type { WireError } from "../wire/wire-error.ts";

/** A budget is shown when this share of it is used. */
const nearlyUsed = 0.8;

/** What waits for the user besides requests for approval, as it was read last. */
export class WaitingItems {
  /** People who wrote to a messenger account and may not write yet. */
  readonly senders = signal<PairEntry[]>([]);
  /** Budgets that are nearly or completely used. */
  readonly budgets = signal<BudgetState[]>([]);
  /** MCP servers at which nobody has logged in yet. */
  readonly servers = signal<McpServerEntry[]>([]);
  /** Why something could not be read. */
  readonly fault = signal("");
  readonly count = computed(
    () => this.senders.value.length + this.budgets.value.length + this.servers.value.length,
  );
  readonly #connection: Pick<PageConnection, "request">;

  constructor(connection: Pick<PageConnection, "request">) {
    this.#connection = connection;
  }

  /** Reads everything again. What cannot be read stays as it was. */
  async read(): Promise<void> {
    const request = this.#connection.request.bind(this.#connection);
    const read = async () => {
      const [senders, budgets, servers] = await Promise.all([
        request("pair.list"),
        request("budget.list"),
        request("mcp.list"),
      ]);
      this.senders.value = Object.values(senders.pairs);
      this.budgets.value = budgets.rules.filter(isNearlyUsed);
      this.servers.value = await this.#needingLogin(servers.servers);
    };
    this.fault.value = await read().then(
      () => "",
      (error: WireError) => error.message,
    );
  }

  /** Asks the servers whose tools are not known: one may need a login, or may not answer. */
  async #needingLogin(servers: McpServerEntry[]): Promise<McpServerEntry[]> {
    const unknown = servers.filter(({ enabled, tools }) => enabled && tools === undefined);
    const probes = await Promise.all(
      unknown.map(({ name }) => this.#connection.request("mcp.probe", { name }).catch(() => undefined)),
    );
    return unknown.filter((_, index) => probes[index]?.needsLogin);
  }
}

/** The largest amount that is used of a budget: a rule may count each agent or channel for itself. */
export function usedAmount({ used = [] }: BudgetState): number {
  return Math.max(0, ...used.map(({ amount }) => amount));
}

function isNearlyUsed(rule: BudgetState): boolean {
  return usedAmount(rule) >= nearlyUsed * rule.limit;
}
