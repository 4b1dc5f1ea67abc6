import type { TimerEvent } from "../../shared/aws/schedules.ts";
import type { Asked, Node } from "./automaton.ts";
import { Interner } from "./intern.ts";
import type { Program } from "./process.ts";
import type { Snapshot } from "./snapshot.ts";

/** A process in the world: where its program is, and what the check knows of it besides. Equal ones are one object. */
export interface Member {
  id: number;
  node: Node;
  /** Of the lease that it took; 0 before. */
  epoch: number;
  /** Renewals that its interval may still make. */
  renewals: number;
  /** The place of a request that has taken effect already, its answer lost, and is made again; else -1. */
  repeated: number;
}

export interface Schedule {
  id: number;
  name: string;
  event: Extract<TimerEvent, { kind: "tool-timeout" }>;
}

/** What may still go wrong. */
export interface Mishaps {
  /** Processes that die. */
  crashes: number;
  /** Calls of AWS that fail for good, before they take effect or after. */
  failures: number;
  /** Times that everybody stands still until all leases have run out. */
  pauses: number;
  /** Writes whose answer is lost, so that the SDK makes them again. */
  repeats: number;
  /** Events that are delivered twice. */
  duplicates: number;
  /** Sweeps at any moment. */
  sweeps: number;
}

/** The whole system at one moment. */
export interface World {
  table: Snapshot;
  /** In the order of their ids. */
  members: readonly Member[];
  schedules: readonly Schedule[];
  /** Calls that the node has been sent, and may answer. */
  calls: readonly string[];
  /** Epoch ms. */
  clock: number;
  left: Mishaps;
  /** Whether something died or failed. */
  crashed: boolean;
  /** Sweeps that came when nothing else was left to happen. */
  swept: number;
  /** Answers that clients were told as final, by run, and runs that were stopped; sorted. */
  told: readonly string[];
}

/** A number for each state of the world: equal worlds have equal names. */
export function worldName({
  table,
  members,
  schedules,
  calls,
  clock,
  left,
  crashed,
  swept,
  told,
}: World): string {
  const { crashes, failures, pauses, repeats, duplicates, sweeps } = left;
  const mishaps = `${crashes}.${failures}.${pauses}.${repeats}.${duplicates}.${sweeps}.${crashed ? 1 : 0}${swept}`;
  const ids = (of: readonly { id: number }[]) => of.map(({ id }) => id).join(".");
  return `${table.id}|${ids(members)}|${ids(schedules)}|${calls.join()}|${clock}|${mishaps}|${told.join()}`;
}

export class Members {
  private readonly known = new Interner<Member>();
  private readonly schedules = new Interner<Schedule>();

  of({ node, epoch, renewals, repeated }: Omit<Member, "id">): Member {
    const id = this.known.id(`${node.id}.${epoch}.${renewals}.${repeated}`, () => ({
      id: this.known.values.length,
      node,
      epoch,
      renewals,
      repeated,
    }));
    return this.known.value(id);
  }

  schedule(name: string, event: Schedule["event"]): Schedule {
    return this.schedules.value(
      this.schedules.id(name, () => ({ id: this.schedules.values.length, name, event })),
    );
  }
}

/** The members with some of them replaced by others. */
export function exchanged(
  members: readonly Member[],
  gone: Member | undefined,
  come: readonly Member[],
): Member[] {
  const rest = [...members];
  if (gone) rest.splice(rest.indexOf(gone), 1);
  return [...rest, ...come].sort((a, b) => a.id - b.id);
}

/** Whether a process is still to do something that others wait for: what outlives its function's end may never happen. */
export function isAtWork({ node }: Member): boolean {
  return node.ended === undefined;
}

export function describeAsked(program: Program, { request }: Asked): string {
  return `${program.name}: ${describeRequest(request)}`;
}

function describeRequest(request: Asked["request"]): string {
  switch (request.to) {
    case "table": {
      const { call } = request;
      const key = call.op === "put" ? call.item : "key" in call ? call.key : undefined;
      if (!key) return `${call.op} ${JSON.stringify("query" in call ? call.query : {})}`;
      const steps = call.op === "update" ? ` ${call.steps.map(describeStep).join(", ")}` : "";
      return `${call.op} ${key.sk}${steps}`;
    }
    case "scheduler":
      return `schedule ${JSON.stringify(request.event)}`;
    case "node":
      return "send the call to the node";
    case "agent":
      return "wake the agent";
    case "model":
      return "call the model";
  }
}

function describeStep(step: {
  op: string;
  path: string | readonly (string | number)[];
  value?: unknown;
}): string {
  const path = typeof step.path === "string" ? step.path : step.path.join(".");
  const value = typeof step.value === "object" ? "…" : step.value;
  return step.op === "set" ? `${path}=${value}` : `${step.op} ${path}`;
}
