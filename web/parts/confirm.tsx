import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface ConfirmProps {
  title: string;
  /** What happens, for somebody who has not done it before. */
  children: ComponentChildren;
  /** The words of the button that does it. */
  does: string;
  onConfirmed: () => void;
  onClosed: () => void;
}

/** Asks before something that cannot be undone. Escape and Cancel close it. */
export function Confirm({ title, children, does, onConfirmed, onClosed }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="confirm-title"
      onClose={onClosed}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <h2 id="confirm-title" dir="auto">
        {title}
      </h2>
      <p>{children}</p>
      <div class="buttons">
        <button type="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
        <button
          type="button"
          class="danger"
          onClick={() => {
            onConfirmed();
            dialog.current?.close();
          }}
        >
          {does}
        </button>
      </div>
    </dialog>
  );
}
