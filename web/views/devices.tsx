import { useSignal } from "@preact/signals";
import type { Results } from "../../shared/protocol/results.ts";
import { Confirm } from "../parts/confirm.tsx";
import { timeText } from "../parts/durations.ts";
import { Fault } from "../parts/fault.tsx";
import { Loading } from "../parts/loading.tsx";
import { useAction } from "../parts/use-action.ts";
import { useAnswer } from "../parts/use-answer.ts";
import type { ConsoleState } from "../state/console-state.ts";
import { signOut } from "../state/sign-out.ts";
import { NewDevice } from "./devices/new-device.tsx";

type Device = Results["device.list"]["devices"][number];

/** The devices that are signed in: what they are, and how they are signed out. */
export default function Devices({ state }: { state: ConsoleState }) {
  const listed = useAnswer(state, () => state.connection.request("device.list", {}));
  const devices = listed.value.value?.devices;
  return (
    <>
      <p class="dim">
        Each device has a token of its own. It reads and writes in all sessions, and answers requests; it
        cannot change settings. A device that is not used for 90 days is signed out.
      </p>
      <Fault text={listed.fault.value} retry={listed.reload} />
      {devices === undefined && listed.fault.value === "" && <Loading state={state} />}
      <ul class="rows" aria-label="Devices">
        {devices?.toSorted(byUse).map((device) => (
          <DeviceRow key={device.id} device={device} state={state} reload={listed.reload} />
        ))}
      </ul>
      {devices && <NewDevice state={state} devices={devices} reload={listed.reload} />}
    </>
  );
}

/** This device first, then by last use. */
function byUse(a: Device, b: Device): number {
  if (a.current || b.current) return a.current ? -1 : 1;
  return (b.lastUsedAt ?? b.createdAt) - (a.lastUsedAt ?? a.createdAt);
}

interface RowProps {
  device: Device;
  state: ConsoleState;
  reload: () => Promise<void>;
}

function DeviceRow({ device, state, reload }: RowProps) {
  const { id, name, current, connections } = device;
  const isAsking = useSignal(false);
  const action = useAction(reload);
  const revoke = () =>
    action.act(() => (current ? signOut(state) : state.connection.request("device.revoke", { id })));
  const does = current ? "Sign out" : "Revoke";
  return (
    <li>
      <div class="row">
        <div class="grows">
          <p class="name" dir="auto">
            {name} {current && <span class="badge here">this device</span>}
            {!current && connections > 0 && <span class="badge here">open now</span>}
          </p>
          <p class="small">{usedText(device)}</p>
        </div>
        <button
          type="button"
          aria-label={`${does}: ${name}`}
          disabled={action.isBusy.value}
          onClick={() => {
            isAsking.value = true;
          }}
        >
          {does}
        </button>
      </div>
      <Fault text={action.fault.value} />
      {isAsking.value && (
        <Confirm
          title={current ? "Sign out of this device?" : `Revoke ${name}?`}
          does={does}
          onConfirmed={revoke}
          onClosed={() => {
            isAsking.value = false;
          }}
        >
          {current
            ? "What it has kept is deleted, also messages that were not sent yet. A new code signs it in again."
            : "Its open page closes at once, and it needs a new code to connect again."}
        </Confirm>
      )}
    </li>
  );
}

function usedText({ lastUsedAt, createdAt, until }: Device): string {
  const use = lastUsedAt === undefined ? `added ${timeText(createdAt)}` : `last used ${timeText(lastUsedAt)}`;
  if (until === undefined) return use;
  const day = new Date(until).toLocaleDateString([], { day: "numeric", month: "short", year: "numeric" });
  return `${use}, expires ${day} unless it is used`;
}
