// Both marks are stored: an error that one version commits, another may deliver to a channel and has to redact. Do not reword them.

/** Precedes a provider's message in an error. All text after it is the provider's. */
const mark = "the model's provider says: ";

/** Precedes a fault for the owner to fix. The text after it may name servers and quote providers. */
const ownersMark = "the model cannot be asked: ";

/** A provider's message as part of an error. From a JSON error only its message is used. */
export function providerWords(words: string): string {
  return mark + messageIn(words);
}

/** A fault that an owner can fix, with the provider's message. */
export function ownersWords(sentence: string, words: string): string {
  return `${ownersMark}${sentence}${words === "" ? "" : ` (${messageIn(words)})`}`;
}

/** `401 {"error":{"message":"invalid x-api-key"}}` becomes `401 invalid x-api-key`. Any other text is unchanged. */
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
 * An error as the users of a channel may read it. A provider's message may name the owner's account and servers and quote
 * the conversation: only its HTTP status is kept, if it begins with one.
 */
export function withoutProviderWords(error: string): string {
  const owners = error.indexOf(ownersMark);
  if (owners >= 0)
    return `${error.slice(0, owners)}the model cannot be called; the owner's client shows the reason`;
  const at = error.indexOf(mark);
  if (at < 0) return error;
  const [, status] = /^([45]\d\d)\b/.exec(error.slice(at + mark.length)) ?? [];
  return `${error.slice(0, at)}the model's provider failed${status ? ` (${status})` : ""}; the owner's client shows the reason`;
}
