import * as v from "valibot";

/** A text of 1 to `max` characters. */
export const text = (max: number) =>
  v.pipe(
    v.string(),
    v.minLength(1, "expected a text"),
    v.maxLength(max, `expected at most ${max} characters`),
  );
export const flag = v.optional(v.boolean());
export const names = v.pipe(v.array(text(256)), v.maxLength(1000, "expected at most 1000 entries"));

/** Channel and account names, which are part of a secret's parameter path and of webhook URLs. */
export const plainName = v.pipe(
  v.string(),
  v.regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "expected a name of a-z, 0-9, _ and -, at most 64"),
);
