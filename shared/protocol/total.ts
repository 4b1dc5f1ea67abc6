/** `Table`, if it has exactly one entry for each of `Names`. A missing or extra entry is a type error. */
export type TotalOver<
  Names extends PropertyKey,
  Table extends Record<Names, unknown> & Record<Exclude<keyof Table, Names>, never>,
> = Table;
