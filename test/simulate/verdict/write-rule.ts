import type { TableCall } from "../../../local/items/table-call.ts";
import type { Condition, Path, Step } from "../../../shared/world/expression.ts";

const nameOf = (path: Path) => [path].flat().join(".");

/**
 * What several writers write in a session's item. Who removes or overwrites it names in the condition one of the
 * attributes that tell whether it is still what the writer has seen.
 */
const rules: { changes: (step: Step, name: string) => boolean; named: RegExp; why: string }[] = [
  {
    changes: ({ op }, name) => name === "stop" && op === "remove",
    named: /^(stop|run\.runId)$/,
    why: "a stop is removed with its run",
  },
  {
    changes: ({ op }, name) => name === "stop" && op === "set",
    named: /^(run\.runId|inbox\.0\.id)$/,
    why: "a stop is set for a run or a message that is there",
  },
  {
    changes: (_, name) => /^run(\.|$)/.test(name),
    named: /^(run|run\.runId|inbox\.0\.id)$/,
    why: "a run is changed by who has seen it",
  },
  {
    changes: ({ op }, name) => (name === "inbox" && op !== "append") || /^inbox\./.test(name),
    named: /^inbox\.0\.id$/,
    why: "an entry is taken out by its id",
  },
  {
    changes: ({ op }, name) => name === "accepted" || (/^recent\./.test(name) && op === "remove"),
    named: /^inbox\.0\.id$/,
    why: "ids are settled while an entry is taken out",
  },
  {
    changes: ({ op }, name) => /^due(Pk|At)$/.test(name) && op === "remove",
    named: /^inbox\.0$/,
    why: "a session is not due while its inbox is empty",
  },
  {
    changes: (_, name) => /^(owner|leaseUntil)$/.test(name),
    named: /^(epoch|leaseUntil)$/,
    why: "a lease is changed by its holder, or once it has run out",
  },
];

/** The rule that a write to the table breaks, if any. */
export function ruleFault(call: TableCall): string | undefined {
  if (call.op !== "update" || call.key.sk !== "META" || !call.key.pk.startsWith("S#")) return undefined;
  const names = call.condition ? namesIn(call.condition) : [];
  for (const step of call.steps) {
    const name = nameOf(step.path);
    const broken = rules.find(
      ({ changes, named }) => changes(step, name) && !names.some((one) => named.test(one)),
    );
    if (broken) return `${step.op} ${name} without a condition about it: ${broken.why}`;
  }
  return undefined;
}

function namesIn(condition: Condition): string[] {
  return "of" in condition ? condition.of.flatMap(namesIn) : [nameOf(condition.path)];
}
