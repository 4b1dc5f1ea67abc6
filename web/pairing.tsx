import { useSignal } from "@preact/signals";

/** Asks for a code. `fault` is why the last one did not work. */
export function Pairing({ fault, onCode }: { fault: string; onCode: (code: string) => void }) {
  const code = useSignal("");
  return (
    <main class="pairing">
      <img src="/icon.svg" alt="" width="56" height="56" />
      <h1>Sign in to your agent</h1>
      <p>
        On a machine that can use it already, run <code>gsv open</code>. It shows a link and a code, which
        work once.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (code.value.trim() !== "") onCode(code.value.trim());
        }}
      >
        <label for="code">Code</label>
        <input
          id="code"
          autocomplete="one-time-code"
          autocapitalize="characters"
          spellcheck={false}
          value={code.value}
          onInput={({ currentTarget }) => {
            code.value = currentTarget.value;
          }}
        />
        <button type="submit" class="primary" disabled={code.value.trim() === ""}>
          Sign in
        </button>
      </form>
      {fault !== "" && (
        <p class="note error" role="alert">
          {fault}
        </p>
      )}
    </main>
  );
}
