/** A value that an item can hold. `undefined` fields of objects are dropped on write. */
export type ItemValue =
  | string
  | number
  | boolean
  | null
  | ItemValue[]
  | { [name: string]: ItemValue | undefined };

export type Item = Record<string, ItemValue>;

export interface Key {
  pk: string;
  sk: string;
}
