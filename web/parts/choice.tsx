import type { Signal } from "@preact/signals";

/** One of a few values, as buttons side by side. @param names the values, with what the reader sees */
export function Choice<T extends string>({
  label,
  names,
  chosen,
}: {
  label: string;
  names: Readonly<Record<T, string>>;
  chosen: Signal<T>;
}) {
  return (
    <div class="tabs" role="group" aria-label={label}>
      {(Object.entries(names) as [T, string][]).map(([value, name]) => (
        <button
          type="button"
          aria-pressed={value === chosen.value}
          onClick={() => {
            chosen.value = value;
          }}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
