import type { TableCall } from "../../../local/items/table-call.ts";
import type { Condition, Path, Step } from "../../../shared/world/expression.ts";

const nameOf = (path: Path) => [path].flat().join(".");

/**
 * Attributes of a session's item that several writers change. A removal or an overwrite needs a condition on an
 * attribute that shows whether the value is still the one that the writer has read.
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
    why: "a stop is set for an existing run or message",
  },
  {
    changes: (_, name) => /^run(\.|$)/.test(name),
    named: /^(run|run\.runId|inbox\.0\.id)$/,
    why: "a run is changed only by a writer that has read it",
  },
  {
    changes: ({ op }, name) => (name === "inbox" && op !== "append") || /^inbox\./.test(name),
    named: /^inbox\.\d+\.id$/,
    why: "an entry is removed or moved by its id",
  },
  {
    changes: ({ op }, name) => name === "accepted" || (/^recent\./.test(name) && op === "remove"),
    named: /^inbox\.0\.id$/,
    why: "ids are settled while an entry is removed",
  },
  {
    changes: ({ op }, name) => /^due(Pk|At)$/.test(name) && op === "remove",
    named: /^inbox\.0$/,
    why: "a session is not due while its inbox is empty",
  },
  {
    changes: (_, name) => /^(owner|leaseUntil)$/.test(name),
    named: /^(epoch|leaseUntil)$/,
    why: "a lease is changed by its holder, or after it has expired",
  },
];

/** The rule that a write to the table violates, if any. */
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
