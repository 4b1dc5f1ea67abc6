import * as v from "valibot";
import { durationPattern } from "./duration.ts";

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

/** Refuses credentials in a URL, because every read of the configuration would show them. */
export const httpUrl = v.pipe(
  v.string(),
  v.maxLength(2048, "expected at most 2048 characters"),
  v.check(isPlainHttpUrl, "expected an http or https URL without credentials"),
);

function isPlainHttpUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return (
    (url.protocol === "http:" || url.protocol === "https:") && url.username === "" && url.password === ""
  );
}

export const duration = v.pipe(
  v.string(),
  v.regex(durationPattern, "expected a duration such as 30m or 2h30m; 0 switches off"),
);
