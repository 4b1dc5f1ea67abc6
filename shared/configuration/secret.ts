import * as v from "valibot";

/** Stands for a secret in overrides and in every answer; the value itself is in the parameter store. */
export const secretMarker = "***";

/**
 * Declares a setting that is a secret. This is the only declaration that a secret needs: masking, storing and
 * deleting it, and asking for it without showing it, follow from the schema. The parameter store takes 4 KB a
 * parameter, and names of letters, digits, _ and -: records on the way to a secret must keep to these.
 */
export function secret() {
  return v.pipe(
    v.string(),
    v.minLength(1, "expected a secret that is not empty"),
    v.maxBytes(4096, "expected a secret of at most 4096 bytes"),
    v.metadata({ secret: true }),
  );
}

/** Whether a part of a schema was declared by `secret()`. */
export function isSecret(schema: v.GenericSchema): boolean {
  return v.getMetadata(schema).secret === true;
}
