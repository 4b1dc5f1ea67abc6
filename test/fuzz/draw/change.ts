import type { Random } from "../../support/random.ts";
import { hostileName, hostileValue } from "./hostile.ts";

type Container = Record<string, unknown> | unknown[];

const isContainer = (value: unknown): value is Container =>
  typeof value === "object" && value !== null && !("toJSON" in value);

/**
 * A JSON value with one to three changes: a part replaced by a hostile value, removed, inserted, doubled, or wrapped in
 * an array. The original is not modified.
 */
export function changed(value: unknown, random: Random, names: readonly string[]): unknown {
  const holder = { root: structuredClone(value) as unknown };
  for (let changes = random.pick([1, 1, 1, 2, 3]); changes > 0; changes--) changeOne(holder, random, names);
  return holder.root;
}

function changeOne(holder: { root: unknown }, random: Random, names: readonly string[]): void {
  // Walk down from the root, and stop at a random depth.
  let parent: Container = holder as Record<string, unknown>;
  let key = "root";
  for (;;) {
    const value: unknown = Reflect.get(parent, key);
    const fields: string[] = isContainer(value) ? Object.keys(value) : [];
    if (!isContainer(value) || fields.length === 0 || random.integer(5) === 0) break;
    parent = value;
    key = random.pick(fields);
  }
  const value: unknown = Reflect.get(parent, key);
  switch (random.integer(8)) {
    case 0:
      if (Array.isArray(parent)) parent.splice(Number(key), 1);
      else Reflect.deleteProperty(parent, key);
      return;
    case 1:
      put(isContainer(value) ? value : parent, hostileName(random), hostileValue(random, names));
      return;
    case 2:
      put(parent, key, [value]);
      return;
    case 3:
      if (typeof value !== "string") break;
      put(parent, key, edited(value, random));
      return;
    case 4:
      if (Array.isArray(value)) put(parent, key, Array.from({ length: 200 }, () => value).flat());
      else put(parent, key, { ...(isContainer(value) ? value : {}), again: value });
      return;
  }
  put(parent, key, hostileValue(random, names));
}

/** Sets an own field, even `__proto__`. An array gets no named fields, so its methods stay. */
function put(target: Container, key: string, value: unknown): void {
  if (Array.isArray(target) && !/^\d+$/.test(key)) return;
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

/** A text with something inserted, removed, or spelled differently. */
function edited(text: string, random: Random): string {
  const at = random.integer(text.length + 1);
  const [head, tail] = [text.slice(0, at), text.slice(at)];
  return random.pick([
    () => `${head}\u0000${tail}`,
    () => `${head}/../${tail}`,
    () => `${head}\ud83d${tail}`,
    () => head + tail.slice(1),
    () => text + text,
    () => text.toUpperCase(),
    () => ` ${text} `,
    () => `${text}\n`,
    () => head,
  ])();
}
