interface Turn {
  role: string;
  content: unknown[];
}

/**
 * Joins neighbouring messages of one role in a request of Bedrock's Converse API, which refuses a conversation whose roles
 * do not alternate: a question after one that was never answered, after a summary, or after tool results.
 * @param payload the input of ConverseStream; anything else is given back as it is
 */
export function alternateTurns(payload: unknown): unknown {
  const messages = (payload as { messages?: unknown } | undefined)?.messages;
  if (!Array.isArray(messages) || !messages.every(isTurn)) return payload;
  const joined: Turn[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last?.role === message.role) last.content = [...last.content, ...message.content];
    else joined.push({ ...message });
  }
  return { ...(payload as object), messages: joined };
}

function isTurn(value: unknown): value is Turn {
  return (
    typeof value === "object" &&
    value !== null &&
    "role" in value &&
    "content" in value &&
    Array.isArray(value.content)
  );
}
