import type { JsonRecord } from "../../../../../local/http/json.ts";
import type { Parts } from "../../../../../local/items/document-path.ts";
import { invalid } from "../dynamodb-error.ts";
import { keyAttributeType } from "../dynamodb-schema.ts";
import { textField } from "../request-fields.ts";
import { parseCondition } from "./condition-parser.ts";
import { type Condition, pathsOf } from "./condition-syntax.ts";
import { type ExpressionReader, parseExpression } from "./expression-reader.ts";
import { parseProjection } from "./projection.ts";
import type { Substitutions } from "./substitutions.ts";
import { parseUpdate } from "./update-parser.ts";
import { type Action, pathsRead } from "./update-syntax.ts";

type ConditionField = "ConditionExpression" | "FilterExpression" | "KeyConditionExpression";

/** The request's condition; undefined when it has none. @throws AwsError ValidationException */
export function conditionOf(
  input: JsonRecord,
  field: ConditionField,
  substitutions: Substitutions,
): Condition | undefined {
  return parsed(input, field, substitutions, parseCondition, pathsOf);
}

/** The document paths of the request's ProjectionExpression. @throws AwsError ValidationException */
export function projectionOf(input: JsonRecord, substitutions: Substitutions): Parts[] | undefined {
  return parsed(input, "ProjectionExpression", substitutions, parseProjection, (paths) => paths);
}

/** The actions of the request's UpdateExpression, none without one. @throws AwsError ValidationException */
export function actionsOf(input: JsonRecord, substitutions: Substitutions): Action[] {
  return parsed(input, "UpdateExpression", substitutions, parseUpdate, pathsOfActions) ?? [];
}

function parsed<T>(
  input: JsonRecord,
  field: ConditionField | "ProjectionExpression" | "UpdateExpression",
  substitutions: Substitutions,
  parse: (reader: ExpressionReader) => T,
  paths: (syntax: T) => Parts[],
): T | undefined {
  const text = textField(input, field);
  if (text === undefined) return undefined;
  const syntax = parseExpression(field, text, substitutions, parse);
  // A condition may name a place inside of a key attribute: there is nothing.
  if (field === "ConditionExpression") return syntax;
  for (const [head, ...below] of paths(syntax)) {
    if (below.length === 0 || keyAttributeType(String(head)) === undefined) continue;
    throw invalid(
      `Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: ${head}`,
    );
  }
  return syntax;
}

function pathsOfActions(actions: Action[]): Parts[] {
  return actions.flatMap((action) =>
    action.kind === "set" ? [action.path, ...pathsRead(action.formula)] : [action.path],
  );
}
