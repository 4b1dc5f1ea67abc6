import type { BudgetState, BudgetUse } from "../../../shared/protocol/usage.ts";
import { showHidden } from "../../chat/shown-text.ts";
import { timeText } from "../../parts/durations.ts";
import { Fault } from "../../parts/fault.tsx";
import { useAnswer } from "../../parts/use-answer.ts";
import type { ConsoleState } from "../../state/console-state.ts";
import { amountText } from "./cost-texts.ts";
import { ShareBar } from "./share-bar.tsx";

/** The limits, how much of each is used, and when it is new. */
export function Budgets({ state }: { state: ConsoleState }) {
  const budgets = useAnswer(state, () => state.connection.request("budget.list", {}));
  const found = budgets.value.value;
  return (
    <section>
      <h2>Budgets</h2>
      <Fault text={budgets.fault.value} retry={budgets.reload} />
      {found?.enabled === false && (
        <p class="note">
          Budgets are off. <code>gsv config set budgets.enabled true</code> turns them on.
        </p>
      )}
      {found?.enabled && found.rules.length === 0 && (
        <p class="note">
          There are no budgets. <code>gsv budget set day=10</code> adds one.
        </p>
      )}
      {found?.enabled && (
        <>
          <ul class="budgets">
            {found.rules.map((rule) => (
              <Budget key={rule.id} rule={rule} />
            ))}
          </ul>
          <p class="small">
            In a terminal, <code>gsv budget raise ID 5</code> raises a limit until it is new, and{" "}
            <code>gsv budget set ID=5</code> changes it.
          </p>
        </>
      )}
    </section>
  );
}

const periods: Record<BudgetState["per"], string> = {
  day: "a day",
  month: "a month",
  session: "until its reset",
  run: "",
};

const atLimit: Record<BudgetState["atLimit"], string> = {
  warn: "warns at the limit",
  refuse: "refuses at the limit",
  ask: "asks you at the limit",
};

function scopeText({ scope, of }: BudgetState): string {
  if (scope === "all") return "everything";
  if (scope === "run") return "each message";
  if (of === undefined) return `each ${scope}`;
  return showHidden(scope === "kind" ? of : `${scope} ${of}`);
}

function Budget({ rule }: { rule: BudgetState }) {
  const { id, of, used, raised, resetsAt } = rule;
  const limit = `${amountText(rule, rule.limit)} ${periods[rule.per]}`.trim();
  // A rule that names nobody has a part for each agent, channel or job that has used something.
  const each = of === undefined && used?.some((part) => part.of !== undefined) ? used : undefined;
  const whole = used === undefined || each ? undefined : (used[0] ?? { amount: 0 });
  const notes = [
    atLimit[rule.atLimit],
    ...(raised > 0 ? [`raised by ${amountText(rule, raised)}`] : []),
    ...(resetsAt === undefined ? [] : [`new ${timeText(resetsAt)}`]),
  ];
  return (
    <li>
      <p class="row">
        <span dir="auto">
          <b>{showHidden(id)}</b> for {scopeText(rule)}
        </span>
        <span>{whole ? useText(rule, whole) : `at most ${limit}`}</span>
      </p>
      {whole && <UseBar rule={rule} use={whole} />}
      {each?.map((part) => (
        <div key={part.of}>
          <p class="row small">
            <span dir="auto">{showHidden(part.of ?? "")}</span>
            <span>{useText(rule, part)}</span>
          </p>
          <UseBar rule={rule} use={part} />
        </div>
      ))}
      <p class="small">
        {whole && `${limit} · `}
        {notes.join(" · ")}
      </p>
    </li>
  );
}

/** `$0.41 of $2.00`, and what of it is reserved for calls in progress. */
function useText(rule: BudgetState, { amount, held = 0 }: BudgetUse): string {
  const reserved = held > 0 ? ` (${amountText(rule, held)} reserved)` : "";
  return `${amountText(rule, amount)} of ${amountText(rule, rule.limit)}${reserved}`;
}

function UseBar({ rule, use: { amount } }: { rule: BudgetState; use: BudgetUse }) {
  return <ShareBar share={amount / rule.limit} isOver={amount >= rule.limit} />;
}
