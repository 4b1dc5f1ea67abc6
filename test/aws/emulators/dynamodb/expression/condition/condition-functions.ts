import type { Parts } from "../../../../../../local/items/document-path.ts";
import { typeOf } from "../../attribute-value.ts";
import type { ExpressionReader } from "../expression-reader.ts";
import { SyntaxFault } from "../expression-tokens.ts";
import { misusedFunction, readOperands, requireDistinct, wrongType } from "./condition-operand.ts";
import type { Condition, Operand } from "./condition-syntax.ts";

const typeNames = ["S", "N", "BOOL", "NULL", "L", "M", "B", "SS", "NS", "BS"];

/** Reads a function that is a condition by itself, after its `name(`. @throws SyntaxFault */
export function parseFunction(reader: ExpressionReader, name: string): Condition {
  const [value, part] = readOperands(reader, name);
  if (value === undefined) throw reader.unexpected();
  if (name === "attribute_exists" || name === "attribute_not_exists") {
    return { kind: name, path: requirePath(name, value) };
  }
  if (part === undefined) throw misusedFunction(name);
  requireDistinct(name, value, part);
  if (name === "attribute_type") return attributeType(value, part);
  if (name === "begins_with") {
    for (const operand of [value, part]) requireString(name, operand);
    return { kind: "begins_with", value, part };
  }
  return { kind: "contains", value, part };
}

function attributeType(value: Operand, type: Operand): Condition {
  if (type.kind !== "value" || typeof type.value !== "string") {
    const given = type.kind === "value" ? typeOf(type.value) : "a document path";
    throw wrongType("operator or function", "attribute_type", given);
  }
  if (!typeNames.includes(type.value)) {
    throw new SyntaxFault(
      `Invalid attribute type name found; type: ${type.value}, valid types: {${typeNames.join(",")}}`,
    );
  }
  return { kind: "attribute_type", path: requirePath("attribute_type", value), type: type.value };
}

function requirePath(name: string, operand: Operand): Parts {
  if (operand.kind === "path") return operand.path;
  throw new SyntaxFault(`Operator or function requires a document path; operator or function: ${name}`);
}

function requireString(name: string, operand: Operand): void {
  if (operand.kind === "path") return;
  const type = operand.kind === "size" ? "N" : typeOf(operand.value);
  if (type !== "S") throw wrongType("operator or function", name, type);
}
