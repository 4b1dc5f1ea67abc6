import type { VNode } from "preact";
import { encode } from "uqr";

/** Light modules around the code, without which scanners do not find it. */
const border = 4;

/** A text as a QR code, dark on light in both colour schemes. */
export function qrPicture(text: string): VNode {
  const { data, size } = encode(text, { border });
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code of the link below">
      <path class="light" d={`M0 0h${size}v${size}H0z`} />
      <path class="dark" d={dark.join("")} shape-rendering="crispEdges" />
    </svg>
  );
}
