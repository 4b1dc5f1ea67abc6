import type { TableCall } from "../../local/items/table-call.ts";
import { isLeased, metaKey } from "../../shared/session/state.ts";
import type { Request } from "./model/process.ts";
import { isAgent } from "./model/programs.ts";
import { sessionKey } from "./model/snapshot.ts";
import type { Member, World } from "./model/world.ts";
import type { Scenario } from "./scenario.ts";

/**
 * Whether nothing that others can do meets what this process does next. Then its moves need not be tried before and
 * after each of theirs: they may as well come first, and what can be reached in the end is the same (a persistent set,
 * in the words of partial-order reduction). What is left out are only orders of moves that do not see each other.
 */
export function isIndependent(world: World, member: Member, scenario: Scenario): boolean {
  const { waiting } = member.node;
  if (scenario.unreduced) return false;
  return waiting.length > 0 && waiting.every(({ request }) => meetsNobody(world, member, request, scenario));
}

function meetsNobody(world: World, member: Member, request: Request, scenario: Scenario): boolean {
  const { schedules, calls } = world.outside;
  switch (request.to) {
    // Whoever is woken, answers or fires may wait as long as it likes.
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
      return isOfMessages(request.call) && scenario.mutate === undefined && holdsAlone(world, member);
  }
}

/** After a refused acquire an agent looks only whether it is the owner itself, which one that took no lease never is. */
function isOwnerRead(call: TableCall): boolean {
  return call.op === "get" && call.key.sk === metaKey(sessionKey).sk;
}

function isOfMessages(call: TableCall): boolean {
  if (call.op === "query") return (call.query.from ?? call.query.prefix ?? "").startsWith("M#");
  if (call.op === "queryIndex") return false;
  return (call.op === "put" ? call.item : call.key).sk.startsWith("M#");
}

/** Whether this process alone can reach the messages: its lease cannot run out, and nobody else has had one. */
function holdsAlone({ table, crew, outside }: World, member: Member): boolean {
  const { session } = table;
  if (outside.left.pauses > 0 || !session?.owner || session.epoch !== member.epoch) return false;
  return (
    isLeased(session, outside.clock) && crew.members.every((other) => other === member || other.epoch === 0)
  );
}
