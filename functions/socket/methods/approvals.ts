import { answerRequest, clientName } from "../../../shared/approvals/answer.ts";
import { listDecisions } from "../../../shared/approvals/decision-log.ts";
import { findUnchosen } from "../../../shared/approvals/first-mode.ts";
import { listGrants, revokeGrant } from "../../../shared/approvals/grants.ts";
import { closeQuestions } from "../../../shared/approvals/press.ts";
import { listOpen, listRequests, readCurrent } from "../../../shared/approvals/requests.ts";
import { listTokens } from "../../../shared/peers/tokens.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import { log } from "../../../shared/runtime/log.ts";
import type { Caller, Gateway, MethodTable } from "../gateway.ts";
import { canonicalKey } from "./chat.ts";

export const approvalMethods: Pick<
  MethodTable,
  "approval.list" | "approval.get" | "approval.answer" | "grant.list" | "grant.revoke"
> = {
  "approval.list": {
    modes: ["client"],
    async handle(gateway, { all, sessionKey, limit }) {
      const { table, now } = gateway;
      const key = sessionKey === undefined ? undefined : await canonicalKey(gateway, sessionKey);
      const found = all ? await listRequests(table, now(), limit, key) : await listOpen(table, now());
      const approvals = found.filter((one) => key === undefined || one.sessionKey === key).slice(-limit);
      const [decisions, unchosen] = await Promise.all([
        all ? listDecisions(table, now(), limit, key) : undefined,
        findUnchosen(table, gateway.configuration),
      ]);
      const more = { ...(decisions ? { decisions } : {}), ...(unchosen ? { unchosen } : {}) };
      return { approvals, count: approvals.length, ...more };
    },
  },
  "approval.get": {
    modes: ["client"],
    async handle({ table, now }, { id }) {
      const approval = await readCurrent(table, id, now());
      if (approval) return approval;
      throw new PeerError(code.notFound, `there is no request ${id}`);
    },
  },
  "approval.answer": {
    modes: ["client"],
    scope: "approve",
    async handle(gateway, { id, ...given }, { caller }) {
      const by = await nameOf(gateway, caller);
      const { result, approval } = await answerRequest(gateway, id, { ...given, by, at: gateway.now() });
      log("approval.answered", { id, decision: given.decision, scope: given.scope, status: result.status });
      if (result.status === "answered" && approval.answer) {
        const { sessionKey, runId, tool, answer } = approval;
        const state = answer.decision === "allow" ? "allowed" : "denied";
        const resolved = { id, sessionKey, runId, tool, state, answer } as const;
        await Promise.all([
          gateway.broadcast.send(await gateway.broadcast.clients(), "approval.resolved", resolved),
          closeQuestions(gateway.sender, approval, state),
        ]);
      }
      return result;
    },
  },
  "grant.list": {
    modes: ["client"],
    async handle({ table }) {
      const grants = await listGrants(table);
      return { grants, count: grants.length };
    },
  },
  "grant.revoke": {
    modes: ["client"],
    scope: "approve",
    handle: async ({ table }, { id }) => ({ ok: true, revoked: await revokeGrant(table, id) }),
  },
};

/** Who answers, for the request's record. */
async function nameOf({ table, now }: Pick<Gateway, "table" | "now">, { tokenId }: Caller): Promise<string> {
  const token = (await listTokens(table, now())).find(({ id }) => id === tokenId);
  return clientName(token?.name ?? String(tokenId));
}
