import type { Events } from "../../../shared/protocol/events.ts";
import { findBins } from "../shell/bins.ts";
import { fieldsOf } from "./event-fields.ts";
import type { NodeParts } from "./node-parts.ts";

/** Time that the shell has, in milliseconds. The gateway asks for another within these bounds. */
const probeMs = { least: 1000, default: 10_000, most: 120_000 };

/** Answers `node.probe`: tells which programs the node's shell finds. */
export function answerProbe({ connection, environment }: NodeParts, payload: Events["node.probe"]): void {
  const { probeId, kind, bins, timeoutMs } = fieldsOf(payload);
  if (typeof probeId !== "string") return;
  const find = async () => {
    if (kind !== "bins" || !Array.isArray(bins)) throw new Error("only probes of kind bins are known");
    const names = bins.filter((name) => typeof name === "string");
    const asked = typeof timeoutMs === "number" ? timeoutMs : probeMs.default;
    const mostMs = Math.min(probeMs.most, Math.max(probeMs.least, asked));
    return { ok: true, bins: await findBins(names, mostMs, environment) };
  };
  find()
    .catch((error: Error) => ({ ok: false, error: error.message }))
    .then((found) => connection.request("node.probe.result", { probeId, ...found }))
    .catch(() => {
      // After a lost connection the answer is not needed.
    });
}
