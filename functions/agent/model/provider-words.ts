/** Stands ahead of a provider's own words in an error; what follows is theirs to the end. */
const mark = "the model's provider says: ";

/** A provider's words, as a part of an error. */
export function providerWords(words: string): string {
  return mark + words;
}

/**
 * An error as the users of a channel may read it. A provider's words may name the owner's account, servers and what was
 * said: of them nothing is left but the HTTP status, where they begin with one.
 */
export function withoutProviderWords(error: string): string {
  const at = error.indexOf(mark);
  if (at < 0) return error;
  const [, status] = /^([45]\d\d)\b/.exec(error.slice(at + mark.length)) ?? [];
  return `${error.slice(0, at)}the model's provider failed${status ? ` (${status})` : ""}; a client of the owner's is told why`;
}
