import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Results } from "../../../shared/protocol/results.ts";
import { timeText } from "../../parts/durations.ts";
import { Fault } from "../../parts/fault.tsx";
import { useAction } from "../../parts/use-action.ts";
import type { ConsoleState } from "../../state/console-state.ts";
import { QrCode } from "./qr-code.tsx";

/** Pause between readings of the list while a code is shown, ms: no event reports a new device. */
const rereadMs = 3_000;

interface NewDeviceProps {
  state: ConsoleState;
  devices: Results["device.list"]["devices"];
  reload: () => Promise<void>;
}

/** A code for another device, until one has connected. It gives no more rights than this device has. */
export function NewDevice({ state, devices, reload }: NewDeviceProps) {
  const shown = useSignal<{ code: Results["code.create"]; known: ReadonlySet<string> } | undefined>(
    undefined,
  );
  const action = useAction();
  const joined = devices.find(({ id }) => shown.value && !shown.value.known.has(id));
  const isWaiting = shown.value !== undefined && joined === undefined;
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setInterval(() => void reload(), rereadMs);
    return () => clearInterval(timer);
  }, [isWaiting]);
  const create = () =>
    action.act(async () => {
      const code = await state.connection.request("code.create", { short: true });
      shown.value = { code, known: new Set(devices.map(({ id }) => id)) };
    });
  return (
    <section class="new-device">
      {isWaiting && shown.value && <Code code={shown.value.code} />}
      <p role="status">
        {joined && (
          <span dir="auto">
            Connected: <b>{joined.name}</b>
          </span>
        )}
      </p>
      <button type="button" class="primary" disabled={action.isBusy.value} onClick={create}>
        {isWaiting ? "Show another code" : "Connect another device"}
      </button>
      <Fault text={action.fault.value} />
    </section>
  );
}

function Code({ code: { code, short = "", expiresAt } }: { code: Results["code.create"] }) {
  const isLocal = ["127.0.0.1", "localhost"].includes(location.hostname);
  const isCopied = useSignal(false);
  const link = `${location.origin}/#c=${code}`;
  const copy = async () => {
    await navigator.clipboard.writeText(link);
    isCopied.value = true;
  };
  return (
    <div class="code-card">
      <p>Scan this with the other device,</p>
      <QrCode text={link} />
      <p>
        or open <b dir="ltr">{location.host}</b> there, and type
      </p>
      <p class="code-text" dir="ltr">
        {short}
      </p>
      <p>
        or open this link there:{" "}
        <a class="link" dir="ltr" href={link} rel="noreferrer" target="_blank">
          {link}
        </a>
      </p>
      <div class="buttons">
        <button type="button" onClick={() => void copy()}>
          {isCopied.value ? "Copied" : "Copy the link"}
        </button>
      </div>
      <p class="small">
        It works once, until {timeText(expiresAt)}. On an iPhone the app on the home screen needs a code of
        its own: it does not share the browser’s sign-in.
        {isLocal &&
          " Another device cannot reach this machine’s own address: deploy the gateway, or use a tunnel."}
      </p>
    </div>
  );
}
