import { useEffect, useRef, useState } from "preact/hooks";

/** Entries that are drawn first. All at once would stop a slow phone for a tenth of a second. */
const firstEntries = 10;

/**
 * The entries of a conversation to draw: the newest ones first, and after each frame twice as many.
 * @param view the conversation. Another one begins again.
 */
export function useNewestFirst<T>(view: object, entries: readonly T[]): readonly T[] {
  const left = useRef<{ view?: object; count: number }>({ count: 0 });
  const [, draw] = useState(0);
  if (left.current.view !== view && entries.length > 0)
    left.current = { view, count: Math.max(0, entries.length - firstEntries) };
  const { count } = left.current;
  const drawn = entries.length - count;
  // An effect follows the frame that shows what is drawn.
  useEffect(() => {
    if (count === 0) return;
    left.current.count = Math.max(0, count - drawn);
    draw((frames) => frames + 1);
  }, [view, count]);
  return entries.slice(count);
}
