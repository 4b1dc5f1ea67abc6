/** Whether a pattern matches the whole name. `*` stands for any characters; the parts between are found from left to right. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [first = "", ...parts] = pattern.split("*");
  if (!name.startsWith(first)) return false;
  const last = parts.pop();
  if (last === undefined) return name === first;
  let at = first.length;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

/** The setting of a record under a name that somebody chose. */
export function ownSetting<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
