/** The names in braces of a text: `"a" | "b"` for `{a} and {b}`. */
export type Placeholders<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;

/** Replaces each `{name}` of a text by its value. */
export function fill<const Text extends string>(
  text: Text,
  values: Readonly<Record<Placeholders<Text>, string | number>>,
): string {
  return text.replace(/\{(\w+)\}/g, (_, name: Placeholders<Text>) => String(values[name]));
}

/** A problem as a user sees it. The texts may contain `{name}`s. docs/troubleshooting.md lists all of them. */
export interface Trouble {
  symptom: string;
  /** One sentence for the page, unless the symptom says it. A terminal shows only symptom and remedy. */
  cause?: string;
  remedy: string;
}
