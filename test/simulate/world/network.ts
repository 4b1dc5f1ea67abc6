import type { Machine } from "../engine/machine.ts";
import type { Timeline } from "../engine/timeline.ts";
import type { FaultName, Faults } from "./faults.ts";

/** A call of a service that failed for good. The caller does not know whether it took effect. */
export class ServiceFailure extends Error {
  override name = "ServiceFailure";
}

/** Adds a line to the trace of a schedule. */
export type Tell = (who: string, what: string) => void;

const readFaults: readonly FaultName[] = ["kills", "pauses", "failures", "slow", "silent"];
const writeFaults: readonly FaultName[] = [...readFaults, "lostAnswers", "repeats"];

type Outcome<T> = { ok: true; value: T } | { ok: false; error: unknown };

/** The network between machines and services. It adds delays and faults. */
export class Network {
  private readonly timeline: Timeline;
  readonly faults: Faults;
  /** Represents the services themselves, whose clock is correct. */
  readonly services: Machine;
  private readonly tell: Tell;

  constructor(timeline: Timeline, faults: Faults, services: Machine, tell: Tell) {
    this.timeline = timeline;
    this.faults = faults;
    this.services = services;
    this.tell = tell;
  }

  /**
   * A request of a machine: it reaches its service, takes effect there, and is answered.
   * @param longer how much longer its way may be than usual, in milliseconds
   */
  request<T>(
    machine: Machine,
    what: string,
    kind: "read" | "write",
    effect: () => Promise<T>,
    longer = 0,
  ): Promise<T> {
    const fault = this.faults.draw(kind === "read" ? readFaults : writeFaults);
    this.tell(machine.name, fault ? `${what} (${fault})` : what);
    return new Promise<T>((resolve, reject) => {
      const answer = (ms: number, outcome: Outcome<T>) =>
        void machine.after(ms, () => (outcome.ok ? resolve(outcome.value) : reject(outcome.error)));
      const way = () => this.way() + (longer > 0 ? this.timeline.jitter(longer) : 0);
      this.send(machine, fault, effect, answer, way);
    });
  }

  private send<T>(
    machine: Machine,
    fault: FaultName | undefined,
    effect: () => Promise<T>,
    answer: (ms: number, outcome: Outcome<T>) => void,
    way: () => number,
  ): void {
    const { faults } = this;
    const failure = () => ({ ok: false, error: new ServiceFailure("the service failed") }) as const;
    const reach = (then: (outcome: Outcome<T>) => void, ms = way()) =>
      void this.services.after(ms, () => void settled(effect()).then(then));
    const usual = (outcome: Outcome<T>) => answer(this.way(), outcome);
    if (fault === "kills") {
      // Before or after the request was sent.
      if (faults.between(0, 1) === 1) reach(() => {});
      machine.die();
    } else if (fault === "failures") answer(this.way(), failure());
    else if (fault === "silent") {
      if (faults.between(0, 1) === 1) reach(() => {});
      answer(faults.between(5_000, 25_000), failure());
    } else if (fault === "lostAnswers") reach(() => answer(this.way(), failure()));
    else if (fault === "repeats") reach(() => reach(usual, faults.between(50, 4_000)));
    else if (fault === "slow")
      reach((outcome) => answer(faults.between(0, 5_000), outcome), faults.between(0, 5_000));
    else {
      if (fault === "pauses") machine.freeze(faults.between(1_000, 90_000));
      reach(usual);
    }
  }

  /** Usual delay in one direction, in milliseconds. */
  private way(): number {
    return 1 + this.timeline.jitter(12);
  }
}

function settled<T>(effect: Promise<T>): Promise<Outcome<T>> {
  return effect.then(
    (value) => ({ ok: true, value }) as const,
    (error: unknown) => ({ ok: false, error }) as const,
  );
}
