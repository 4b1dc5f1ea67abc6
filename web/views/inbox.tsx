import { ApprovalCard } from "../chat/approval-card.tsx";
import type { ConsoleState } from "../state/console-state.ts";

/** What waits for the user, in one list to empty. */
export default function Inbox({ state }: { state: ConsoleState }) {
  const approvals = state.approvals.value;
  if (approvals.length === 0) return <p class="note">Nothing waits for you.</p>;
  return (
    <>
      {approvals.map((request) => (
        <ApprovalCard key={request.id} request={request} state={state} />
      ))}
    </>
  );
}
