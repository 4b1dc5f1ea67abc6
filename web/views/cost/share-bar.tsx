/** A part of a whole as a bar, from 0 to 1. The text beside it says the same. */
export function ShareBar({ share, isOver = false }: { share: number; isOver?: boolean }) {
  return (
    <svg class={isOver ? "share over" : "share"} aria-hidden="true" focusable="false">
      <rect class="whole" width="100%" height="100%" />
      <rect class="part" width={`${Math.min(100, Math.max(0, share * 100))}%`} height="100%" />
    </svg>
  );
}
