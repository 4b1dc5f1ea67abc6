import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import type { ConsoleState } from "../state/console-state.ts";
import type { View } from "./views.ts";

type Loaded = ComponentType<{ state: ConsoleState }>;

/** Shows a view as soon as its component is loaded. Give it the view's name as its key. */
export function LazyView({ view, state }: { view: View; state: ConsoleState }) {
  const shown = useSignal<{ Component?: Loaded; isFailed?: boolean }>({});
  const load = () => {
    shown.value = {};
    view.load().then(
      (Component) => {
        shown.value = { Component };
      },
      () => {
        shown.value = { isFailed: true };
      },
    );
  };
  useEffect(load, []);
  const { Component, isFailed } = shown.value;
  return (
    <main class="view" aria-busy={!Component && !isFailed}>
      <div class="column">
        {Component && <Component state={state} />}
        {isFailed && <Failure title={view.title} retry={load} />}
        {!Component && !isFailed && <p class="note">Loading…</p>}
      </div>
    </main>
  );
}

function Failure({ title, retry }: { title: string; retry: () => void }) {
  return (
    <section role="alert">
      <p class="note error">
        {title} could not be loaded. Check the connection, or reload the page: it may have been updated.
      </p>
      <div class="buttons">
        <button type="button" class="primary" onClick={retry}>
          Try again
        </button>
        <button type="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </div>
    </section>
  );
}
