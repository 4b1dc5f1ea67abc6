import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { durationText } from "./durations.ts";

/** The time since a moment, each second. */
export function Elapsed({ since }: { since: number }) {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = Date.now();
    }, 1000);
    return () => clearInterval(timer);
  }, [now]);
  return <>{durationText(Math.max(0, now.value - since))}</>;
}
