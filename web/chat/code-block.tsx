import { useSignal } from "@preact/signals";

/** Code with a button that copies it. */
export function CodeBlock({ text, language }: { text: string; language: string }) {
  const copied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    copied.value = true;
    setTimeout(() => {
      copied.value = false;
    }, 1500);
  };
  return (
    <figure class="code">
      <figcaption>
        <span>{language}</span>
        <button type="button" class="quiet" onClick={() => void copy()}>
          {copied.value ? "Copied" : "Copy"}
        </button>
      </figcaption>
      <pre dir="ltr" tabIndex={0}>
        <code>{text}</code>
      </pre>
    </figure>
  );
}
