/** Stands ahead of a provider's own words in an error; what follows is theirs to the end. */
const mark = "the model's provider says: ";

/** Stands ahead of what an owner is to mend, which may name servers and what their providers say. */
const ownersMark = "the model cannot be asked: ";

/** A provider's words, as a part of an error. Of an error in JSON only its message. */
export function providerWords(words: string): string {
  return mark + messageIn(words);
}

/** What an owner can mend, with the provider's words. */
export function ownersWords(sentence: string, words: string): string {
  return `${ownersMark}${sentence}${words === "" ? "" : ` (${messageIn(words)})`}`;
}

/** `401 {"error":{"message":"invalid x-api-key"}}` is `401 invalid x-api-key`. Any other text is unchanged. */
function messageIn(words: string): string {
  const at = words.indexOf("{");
  if (at < 0) return words;
  try {
    const body: unknown = JSON.parse(words.slice(at));
    const { error = body } = body as { error?: unknown };
    const message = typeof error === "string" ? error : (error as { message?: unknown } | null)?.message;
    return typeof message === "string" && message !== "" ? words.slice(0, at) + message : words;
  } catch {
    return words;
  }
}

/**
 * An error as the users of a channel may read it. A provider's words may name the owner's account, servers and what was
 * said: of them nothing is left but the HTTP status, where they begin with one.
 */
export function withoutProviderWords(error: string): string {
  const owners = error.indexOf(ownersMark);
  if (owners >= 0)
    return `${error.slice(0, owners)}the model cannot be asked; a client of the owner's is told why`;
  const at = error.indexOf(mark);
  if (at < 0) return error;
  const [, status] = /^([45]\d\d)\b/.exec(error.slice(at + mark.length)) ?? [];
  return `${error.slice(0, at)}the model's provider failed${status ? ` (${status})` : ""}; a client of the owner's is told why`;
}
