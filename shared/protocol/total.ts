/**
 * `Table`, which must have an entry for every one of `Names` and for nothing else: a table that forgets a
 * name, or has one too many, does not compile.
 */
export type TotalOver<
  Names extends PropertyKey,
  Table extends Record<Names, unknown> & Record<Exclude<keyof Table, Names>, never>,
> = Table;
