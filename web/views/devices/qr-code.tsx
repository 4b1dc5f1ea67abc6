import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Light modules around the code, without which scanners do not find it. */
const border = 4;

/**
 * A text as a QR code, dark on light in both colour schemes. It is drawn when its encoder is loaded: without it, the typed
 * code and the link are enough.
 */
export function QrCode({ text }: { text: string }) {
  const encoded = useSignal<{ data: boolean[][]; size: number } | undefined>(undefined);
  useEffect(() => {
    encoded.value = undefined;
    void import("uqr").then(
      ({ encode }) => {
        encoded.value = encode(text, { border });
      },
      () => undefined,
    );
  }, [text]);
  return <div class="qr-place">{encoded.value && <Picture {...encoded.value} />}</div>;
}

function Picture({ data, size }: { data: boolean[][]; size: number }) {
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code of the link below">
      <path class="light" d={`M0 0h${size}v${size}H0z`} />
      <path class="dark" d={dark.join("")} shape-rendering="crispEdges" />
    </svg>
  );
}
