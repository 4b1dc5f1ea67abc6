import type { TableCall } from "../../local/items/table-call.ts";
import { isLeased, metaKey } from "../../shared/session/state.ts";
import { bucketPartition } from "./model/bucket.ts";
import type { Request } from "./model/process.ts";
import { isAgent } from "./model/programs.ts";
import { sessionKey } from "./model/snapshot.ts";
import type { Member, World } from "./model/world.ts";
import type { Scenario } from "./scenario.ts";

/**
 * Whether the next moves of this process are independent of all moves of the other processes. Then they need not be tried
 * before and after each of theirs: trying them first reaches the same final states (a persistent set, in the terms of
 * partial-order reduction). Only orders of independent moves are left out.
 */
export function isIndependent(world: World, member: Member, scenario: Scenario): boolean {
  const { waiting } = member.node;
  if (scenario.unreduced) return false;
  return waiting.length > 0 && waiting.every(({ request }) => meetsNobody(world, member, request, scenario));
}

function meetsNobody(world: World, member: Member, request: Request, scenario: Scenario): boolean {
  const { schedules, calls } = world.outside;
  switch (request.to) {
    // A wake, an answer or a timer may be delayed without bound.
    case "agent":
      return true;
    case "scheduler":
      return !schedules.some(({ name }) => name === request.name);
    case "node":
      return !calls.includes(request.callId);
    case "model":
      return true;
    case "table":
      if (isOwnerRead(request.call) && isAgent(member.node.program) && member.epoch === 0) return true;
      if (followsSession(request.call)) return true;
      return isOfHolder(request.call) && scenario.mutate === undefined && holdsAlone(world, member);
  }
}

/** After a refused acquire, an agent only checks whether it is the owner. An agent without a lease never is. */
function isOwnerRead(call: TableCall): boolean {
  return call.op === "get" && call.key.sk === metaKey(sessionKey).sk;
}

/** A request's own item is written before it is listed, with the same contents each time, and read only after that. */
function followsSession(call: TableCall): boolean {
  if (call.op === "query" || call.op === "queryIndex") return false;
  const { pk } = call.op === "put" ? call.item : call.key;
  return pk.startsWith("AP#");
}

/** Messages, archives, earlier ids and the text of a compaction are read and written only by the session's holder. */
function isOfHolder(call: TableCall): boolean {
  if (call.op === "queryIndex") return false;
  if (call.op === "query")
    return call.query.pk === bucketPartition || (call.query.from ?? call.query.prefix ?? "").startsWith("M#");
  const { pk, sk } = call.op === "put" ? call.item : call.key;
  return pk === bucketPartition || sk === "COMPACTION" || /^(M|PREVIOUS)#/.test(sk);
}

/** Whether only this process can access them: its lease cannot expire, and no other process has had one. */
function holdsAlone({ table, crew, outside }: World, member: Member): boolean {
  const { session } = table;
  if (outside.left.pauses > 0 || !session?.owner || session.epoch !== member.epoch) return false;
  return (
    isLeased(session, outside.clock) && crew.members.every((other) => other === member || other.epoch === 0)
  );
}
