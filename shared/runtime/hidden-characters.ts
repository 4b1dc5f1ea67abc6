/**
 * Characters that a reader does not see, or that a terminal strips: controls other than tab and line break, format
 * characters (zero-width, text direction, tags), fillers and variation selectors. The first alternatives match what is
 * visible: a line break with its carriage return, and the parts of an emoji.
 */
const parts =
  /[\t\n]|\r\n|\p{Extended_Pictographic}[\ufe0e\ufe0f]?\p{Emoji_Modifier}?(?:\u200d\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?)*|[0-9#*]\ufe0f\u20e3|([\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800])/gu;

/** The hidden characters of a text, in order, each as `⟨U+E0072⟩`. */
export function hiddenCharacters(text: string): string[] {
  return [...text.matchAll(parts)].flatMap(([, hidden]) => (hidden === undefined ? [] : [mark(hidden)]));
}

/** The text with each hidden character shown as `⟨U+E0072⟩`. Line breaks, tabs and emoji remain. */
export function showHidden(text: string): string {
  return text.replace(parts, (part, hidden?: string) => (hidden === undefined ? part : mark(hidden)));
}

function mark(character: string): string {
  const digits = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `⟨U+${digits}⟩`;
}
