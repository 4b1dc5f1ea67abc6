import type { BudgetState } from "../../../shared/protocol/usage.ts";
import { showHidden } from "../../chat/shown-text.ts";
import { timeText } from "../../parts/durations.ts";
import { Fault } from "../../parts/fault.tsx";
import { useAction } from "../../parts/use-action.ts";
import type { ConsoleState } from "../../state/console-state.ts";
import { usedAmount } from "../../state/waiting-items.ts";
import { amountText } from "../cost/cost-texts.ts";

/** Budgets that are nearly or completely used. */
export function Budgets({ state }: { state: ConsoleState }) {
  return (
    <>
      {state.waiting.budgets.value.map((rule) => (
        <Budget key={rule.id} rule={rule} state={state} />
      ))}
    </>
  );
}

function Budget({ rule, state }: { rule: BudgetState; state: ConsoleState }) {
  const { isBusy, fault, act } = useAction(() => state.waiting.read());
  const { id, limit, unit, resetsAt } = rule;
  const used = usedAmount(rule);
  // The gateway raises the limit once for each id, however often the request is repeated.
  const raise = () =>
    act(() =>
      state.connection.request("budget.raise", {
        ...{ id, raiseId: crypto.randomUUID() },
        ...(unit === "usd" ? { usd: 1 } : { tokens: 100_000 }),
      }),
    );
  return (
    <section class="card item" aria-label={`The budget ${showHidden(id)}`}>
      <h2>
        The budget {showHidden(id)} is {used >= limit ? "used up" : "nearly used up"}
      </h2>
      <p class="small">
        {amountText(rule, used)} of {amountText(rule, limit)}
        {resetsAt === undefined ? "" : `; it begins again at ${timeText(resetsAt)}`}
      </p>
      <Fault text={fault.value} />
      <div class="buttons">
        <button type="button" disabled={isBusy.value} onClick={raise}>
          Allow {unit === "usd" ? "$1.00" : "100,000 tokens"} more
        </button>
      </div>
    </section>
  );
}
