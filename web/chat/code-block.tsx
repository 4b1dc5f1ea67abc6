import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { memoized } from "../parts/memoized.tsx";
import type { CodePiece } from "./code-colours.ts";

/** A text that did not change for this time, ms, is not being written any more. */
const quietMs = 150;

/** Code with a button that copies it. It gets its colours in view, when it does not grow. */
export function CodeBlock({ text, language }: { text: string; language: string }) {
  const copied = useSignal(false);
  const place = useRef<HTMLElement>(null);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    copied.value = true;
    setTimeout(() => {
      copied.value = false;
    }, 1500);
  };
  return (
    <figure class="code" ref={place}>
      <figcaption>
        <span>{language}</span>
        <button type="button" class="quiet" onClick={() => void copy()}>
          {copied.value ? "Copied" : "Copy"}
        </button>
      </figcaption>
      <pre dir="ltr" tabIndex={0}>
        <code>{useColours(place, text, language)}</code>
      </pre>
    </figure>
  );
}

/** The text, with colours as far as it had them before it grew. */
function useColours(place: RefObject<HTMLElement | null>, text: string, language: string) {
  const coloured = useSignal<{ text: string; pieces: CodePiece[] } | undefined>(undefined);
  useEffect(() => {
    if (language === "") return;
    const observer = new IntersectionObserver(async (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      // Without a connection it may not be there: the code stays plain.
      const colours = await import("./code-colours.ts").catch(() => undefined);
      const pieces = colours?.codePieces(text, language);
      if (pieces) coloured.value = { text, pieces };
    });
    const timer = setTimeout(() => place.current && observer.observe(place.current), quietMs);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [text, language]);
  const known = coloured.value;
  if (!known || !text.startsWith(known.text)) return text;
  return [<ColouredCode pieces={known.pieces} />, text.slice(known.text.length)];
}

const ColouredCode = memoized<{ pieces: readonly CodePiece[] }>(({ pieces }) => (
  <>{pieces.map(({ text, name }) => (name === undefined ? text : <span class={name}>{text}</span>))}</>
));
