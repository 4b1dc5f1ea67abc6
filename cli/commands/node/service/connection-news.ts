/** A line of a node's log: its time and its text. */
export interface LogLine {
  at: string;
  text: string;
}

/** What the newest lines tell of the connection: its last change, and its last fault. */
export function connectionNews(lines: readonly string[]): { last?: LogLine; lastError?: LogLine } {
  const parsed = lines.map((line) => {
    const [, at = "", text = ""] = /^(\S+) (.*)$/.exec(line) ?? [];
    return { at, text };
  });
  const newest = (pattern: RegExp) => parsed.findLast(({ text }) => pattern.test(text));
  const last = newest(/^(connect|disconnect|clos|ended)/);
  const lastError = newest(/^(disconnected|closed|ended): /);
  return { ...(last ? { last } : {}), ...(lastError ? { lastError } : {}) };
}
