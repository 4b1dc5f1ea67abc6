import type { Approval, ApprovalResolved } from "../../shared/protocol/approvals.ts";
import type { Gateway } from "../gateway/gateway-client.ts";

/** How a request ended, as far as readers see it. */
export type RequestEnd = Omit<ApprovalResolved, "runId">;

/** Receives each event about requests once. */
interface RequestReader {
  requested(request: Approval): void;
  reminded(request: Approval): void;
  ended(end: RequestEnd): void;
}

/** A subscription to requests. `refresh` reads what began and ended while the connection was lost. */
interface OpenRequests {
  /** @returns a line for the owner, if somebody should choose when to ask */
  refresh(): Promise<string | undefined>;
  stop(): void;
}

const chooseLine =
  "this gateway can ask you before the agent does what words of others could cause; nothing is asked yet. " +
  "Choose with `gsv approvals mode guard`, or `off` to keep it so";

/** Follows the requests of all sessions that wait for the owner. */
export function followRequests(
  gateway: Pick<Gateway, "onEvent" | "request">,
  reader: RequestReader,
): OpenRequests {
  const open = new Map<string, Approval>();
  const ended = new Set<string>();
  const begin = (request: Approval) => {
    // A request is sent again when the agent continues, also just after its end.
    if (open.has(request.id) || ended.has(request.id)) return;
    open.set(request.id, request);
    reader.requested(request);
  };
  const end = (one: RequestEnd) => {
    open.delete(one.id);
    if (ended.has(one.id)) return;
    ended.add(one.id);
    reader.ended(one);
  };
  const undo = [
    gateway.onEvent("approval.requested", ({ reminder, ...request }) => {
      if (reminder && open.has(request.id)) reader.reminded(request);
      else begin(request);
    }),
    gateway.onEvent("approval.resolved", end),
  ];
  return {
    async refresh() {
      const before = [...open.keys()];
      const { approvals, unchosen } = await gateway.request("approval.list", {});
      const waiting = new Set(approvals.map(({ id }) => id));
      for (const id of before.filter((one) => open.has(one) && !waiting.has(one))) {
        const now = await gateway.request("approval.get", { id });
        const { tool, sessionKey, answer, state } = now;
        end({
          id,
          tool,
          sessionKey,
          state: state === "open" ? "withdrawn" : state,
          ...(answer ? { answer } : {}),
        });
      }
      for (const request of approvals) begin(request);
      return unchosen === "new" ? chooseLine : undefined;
    },
    stop() {
      for (const one of undo) one();
    },
  };
}
