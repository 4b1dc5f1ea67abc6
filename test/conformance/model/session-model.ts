import { leaseMs } from "../../../shared/session/lease.ts";
import type { Run } from "../../../shared/session/run.ts";
import { isIndependent } from "../independence.ts";
import { changeFaults, doneFaults, isDone, restFaults } from "../invariants.ts";
import { acceptedIds, isCommand } from "../said.ts";
import { countsAnswers, type Model, type Scenario } from "../scenario.ts";
import { maskRequest } from "./mask.ts";
import { sweeper, toolTimeout } from "./programs.ts";
import type { World } from "./world.ts";

/** One session, its agents, and those who write to it. */
export const sessionModel: Model = {
  mask: maskRequest,
  isIndependent,
  changeFaults,
  restFaults: faultsAtRest,
  isDone: ({ table }) => isDone(table),
  // The function reads the session, and ends. A run does not return to an earlier step, and no id gets a second run.
  isPast({ table: { session } }, event) {
    if (event.kind !== "tool-timeout" || session?.run?.runId !== event.runId) return session !== undefined;
    return session.run.step > event.step;
  },
  fired(event) {
    if (event.kind !== "tool-timeout") throw new Error(`the check has no event ${event.kind}`);
    return toolTimeout(event);
  },
  sweepers: () => [sweeper],
  calmSweeps: 0,
  // Longer than every lease, deadline and grace period.
  restMs: 3_600_000,
  pauseMs: leaseMs + 1000,
};

function faultsAtRest({ table, outside }: World, scenario: Scenario): string[] {
  const { schedules, clock, crashed, told } = outside;
  const isScheduled = ({ runId, step, deadline }: Run) =>
    schedules.some(
      ({ event }) =>
        event.kind === "tool-timeout" &&
        event.runId === runId &&
        event.step === step &&
        event.deadline === deadline,
    );
  const faults = crashed ? [] : restFaults(table, clock, isScheduled);
  if (!isDone(table)) return faults;
  const stopped = new Set(told.filter((one) => one.startsWith("error ")).map((one) => one.slice(6)));
  if (countsAnswers(scenario)) {
    const accepted = acceptedIds(table.session).filter((id) => !stopped.has(id));
    const times = (id: string) => told.filter((one) => one === `${answerKind(id)} ${id}`).length;
    const wrong = accepted.filter((id) => times(id) !== 1);
    faults.push(...wrong.map((id) => `clients received the answer to ${id} ${times(id)} times`));
  }
  return [...faults, ...doneFaults(table, stopped)];
}

/** The event that clients get when an accepted entry is done. */
const answerKind = (id: string) => (isCommand(id) ? "answered" : "final");
