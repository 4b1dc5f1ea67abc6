/** Why something failed. `retry` does it again. */
export function Fault({ text, retry }: { text: string; retry?: () => unknown }) {
  if (text === "") return null;
  return (
    <p class="note error" role="alert" dir="auto">
      {text}{" "}
      {retry && (
        <button type="button" class="quiet" onClick={() => void retry()}>
          Try again
        </button>
      )}
    </p>
  );
}
