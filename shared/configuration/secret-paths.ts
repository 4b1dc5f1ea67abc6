import type * as v from "valibot";
import { formatPath, isObject, type JsonObject, valueAt } from "./configuration-paths.ts";
import { isSecret, secretMarker } from "./secret.ts";

/** The secrets that a schema declares, by their configuration paths. */
export interface SecretPaths {
  /** Whether the value at a path is a secret. */
  includes(path: readonly string[]): boolean;
  /** Replaces every secret that is set, in a configuration or in overrides, by the marker. */
  mask<T>(configuration: T): T;
  /** Paths of all secrets set in overrides, in the text form used by the parameter store. */
  list(overrides: JsonObject): string[];
  /**
   * Prepares a value for storing at a path: adds its new secrets to `found` by their paths, and resolves
   * markers. A marker keeps a secret that is set in `overrides`; a marker without such a secret is dropped.
   * The result of `config.get` can therefore be written back unchanged.
   * @returns the value, with new secrets still in clear text; undefined when there is nothing to store
   */
  split(value: unknown, path: readonly string[], overrides: JsonObject, found: Map<string, string>): unknown;
}

/** The positions of secrets in a value: the value itself, or some of its fields. Undefined: no secrets. */
type SecretTree =
  | "secret"
  | { fields: Map<string, SecretTree>; anyField: SecretTree | undefined }
  | undefined;

/**
 * Finds the secrets of a schema by walking it once: objects, records, optional values, unions and
 * intersections.
 * @throws Error when the schema declares a secret inside of a list, a map or a recursive schema, where it has
 * no fixed path
 */
export function createSecretPaths(schema: v.GenericSchema): SecretPaths {
  const root = treeOf(schema);
  return {
    includes: (path) => treeAt(root, path) === "secret",
    mask: (configuration) => maskBelow(root, configuration) as typeof configuration,
    list: (overrides) => listBelow(root, overrides, []),
    split: (value, path, overrides, found) => {
      const splitBelow = (tree: SecretTree, part: unknown, at: readonly string[]): unknown => {
        if (tree === "secret") {
          if (part === secretMarker) return valueAt(overrides, at) === undefined ? undefined : secretMarker;
          if (typeof part === "string") found.set(formatPath(at), part);
          return part;
        }
        if (tree === undefined || !isObject(part)) return part;
        const split = Object.entries(part).map(
          ([name, child]) => [name, splitBelow(childOf(tree, name), child, [...at, name])] as const,
        );
        return Object.fromEntries(split.filter(([, child]) => child !== undefined));
      };
      return splitBelow(treeAt(root, path), value, path);
    },
  };
}

function maskBelow(tree: SecretTree, value: unknown): unknown {
  if (tree === "secret") return value === undefined ? value : secretMarker;
  if (tree === undefined || !isObject(value)) return value;
  const masked = Object.entries(value).map(([name, child]) => [name, maskBelow(childOf(tree, name), child)]);
  return Object.fromEntries(masked);
}

function listBelow(tree: SecretTree, value: unknown, path: readonly string[]): string[] {
  if (tree === "secret") return value === undefined ? [] : [formatPath(path)];
  if (tree === undefined || !isObject(value)) return [];
  return Object.entries(value).flatMap(([name, child]) =>
    listBelow(childOf(tree, name), child, [...path, name]),
  );
}

function treeAt(root: SecretTree, path: readonly string[]): SecretTree {
  return path.reduce(childOf, root);
}

function childOf(tree: SecretTree, name: string): SecretTree {
  if (tree === undefined || tree === "secret") return undefined;
  return combine([tree.fields.get(name), tree.anyField]);
}

/** The parts of valibot's schemas that hold other schemas (https://valibot.dev/api/, "Schemas"). */
interface SchemaParts {
  type: string;
  pipe?: readonly { kind: string }[];
  /** Of an optional, nullable or non-optional value. */
  wrapped?: v.GenericSchema;
  /** Of a union, a variant or an intersection; of a picklist they are values. */
  options?: readonly unknown[];
  /** Of an object by its fields' names. */
  entries?: Record<string, v.GenericSchema>;
  rest?: v.GenericSchema;
  /** Of a record, a map or a set. */
  value?: unknown;
  key?: unknown;
  /** Of an array, a tuple. */
  item?: unknown;
  items?: readonly unknown[];
}

function treeOf(schema: v.GenericSchema): SecretTree {
  if (isSecret(schema)) return "secret";
  const parts = schema as unknown as SchemaParts;
  // The first item of a pipe is the schema without the pipe.
  if (parts.pipe) return combine(parts.pipe.filter(isSchema).map(treeOf));
  switch (parts.type) {
    case "object":
    case "strict_object":
    case "loose_object": {
      const fields = Object.entries(parts.entries ?? {}).map(
        ([name, field]) => [name, treeOf(field)] as const,
      );
      return treeWith(new Map(fields.filter(hasSecrets)), undefined);
    }
    case "record":
      return treeWith(new Map(), isSchema(parts.value) ? treeOf(parts.value) : undefined);
    case "union":
    case "variant":
    case "intersect":
      return combine((parts.options ?? []).filter(isSchema).map(treeOf));
    default:
      if (parts.wrapped) return treeOf(parts.wrapped);
      refuseSecretsIn(parts);
      return undefined;
  }
}

/** @throws Error when a schema whose parts have no paths contains a secret */
function refuseSecretsIn(parts: SchemaParts): void {
  const inner = [parts.rest, parts.key, parts.value, parts.item, ...(parts.items ?? [])].filter(isSchema);
  if (parts.type === "lazy" || inner.some((part) => treeOf(part) !== undefined))
    throw new Error(`a secret inside of a schema of type ${parts.type} would be stored in the clear`);
}

/** Every secret of several trees. */
function combine(trees: readonly SecretTree[]): SecretTree {
  if (trees.includes("secret")) return "secret";
  const present = trees.filter((tree) => tree !== undefined && tree !== "secret");
  if (present.length < 2) return present[0];
  const names = new Set(present.flatMap(({ fields }) => [...fields.keys()]));
  const fields = [...names].map(
    (name) => [name, combine(present.map((tree) => tree.fields.get(name)))] as const,
  );
  return treeWith(new Map(fields.filter(hasSecrets)), combine(present.map(({ anyField }) => anyField)));
}

function treeWith(fields: Map<string, NonNullable<SecretTree>>, anyField: SecretTree): SecretTree {
  return fields.size > 0 || anyField !== undefined ? { fields, anyField } : undefined;
}

function hasSecrets(
  field: readonly [string, SecretTree],
): field is readonly [string, NonNullable<SecretTree>] {
  return field[1] !== undefined;
}

function isSchema(part: unknown): part is v.GenericSchema {
  return isObject(part) && part.kind === "schema";
}
