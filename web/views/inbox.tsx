import { useEffect } from "preact/hooks";
import { ApprovalCard } from "../chat/approval-card.tsx";
import { Fault } from "../parts/fault.tsx";
import type { ConsoleState } from "../state/console-state.ts";
import { Activity } from "./inbox/activity.tsx";
import { FailedChannels } from "./inbox/failed-channels.tsx";
import { ProgramCode } from "./inbox/program-code.tsx";
import { Senders } from "./inbox/senders.tsx";
import { ServerLogins } from "./inbox/server-logins.tsx";
import { Budgets } from "./inbox/spent-budgets.tsx";

/** What waits for the user in one list to empty, then what runs, and what sleeps until when. */
export default function Inbox({ state }: { state: ConsoleState }) {
  const { approvals, waiting } = state;
  const isConnected = state.wire.value.status === "connected";
  useEffect(() => {
    if (isConnected) void waiting.read(true);
  }, [isConnected, waiting]);
  return (
    <div class="inbox">
      <section aria-label="Waiting for you">
        {approvals.value.map((request) => (
          <ApprovalCard key={request.id} request={request} state={state} />
        ))}
        <Senders state={state} />
        <Budgets state={state} />
        <ServerLogins state={state} />
        <FailedChannels state={state} />
        <Fault text={waiting.fault.value} retry={() => waiting.read(true)} />
        {approvals.value.length + waiting.count.value === 0 && <p class="note">Nothing waits for you.</p>}
      </section>
      <Activity state={state} />
      <ProgramCode state={state} />
    </div>
  );
}
