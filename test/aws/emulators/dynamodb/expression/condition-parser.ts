import type { Parts } from "../../../../../local/items/document-path.ts";
import { typeOf } from "../attribute-value.ts";
import {
  misusedFunction,
  readOperand,
  readOperands,
  readSize,
  requireDistinct,
  wrongType,
} from "./condition-operand.ts";
import { compareValues } from "./condition-outcome.ts";
import type { Comparator, Condition, Operand } from "./condition-syntax.ts";
import type { ExpressionReader } from "./expression-reader.ts";
import { SyntaxFault } from "./expression-tokens.ts";

/** A condition, and whether it stood in parentheses of its own. */
interface Parsed {
  condition: Condition;
  isGroup: boolean;
}

const comparators: readonly string[] = ["=", "<>", "<", "<=", ">", ">="] satisfies Comparator[];
const maxInOptions = 100;

/** Reads a condition: OR binds weakest, then AND, then NOT. @throws SyntaxFault */
export function parseCondition(reader: ExpressionReader): Condition {
  return parseDisjunction(reader).condition;
}

function parseDisjunction(reader: ExpressionReader): Parsed {
  let left = parseConjunction(reader);
  while (reader.takeKeyword("OR")) left = joined("or", left, parseConjunction(reader));
  return left;
}

function parseConjunction(reader: ExpressionReader): Parsed {
  let left = parseNegation(reader);
  while (reader.takeKeyword("AND")) left = joined("and", left, parseNegation(reader));
  return left;
}

function joined(kind: "and" | "or", left: Parsed, right: Parsed): Parsed {
  return { condition: { kind, left: left.condition, right: right.condition }, isGroup: false };
}

function parseNegation(reader: ExpressionReader): Parsed {
  if (!reader.takeKeyword("NOT")) return parsePrimary(reader);
  return { condition: { kind: "not", of: parseNegation(reader).condition }, isGroup: false };
}

function parsePrimary(reader: ExpressionReader): Parsed {
  if (!reader.takeSymbol("(")) return { condition: parsePredicate(reader), isGroup: false };
  const { condition, isGroup } = parseDisjunction(reader);
  reader.requireSymbol(")");
  if (isGroup) throw new SyntaxFault("The expression has redundant parentheses;");
  return { condition, isGroup: true };
}

function parsePredicate(reader: ExpressionReader): Condition {
  const name = reader.takeFunction();
  if (name === undefined) return parseComparison(reader, readOperand(reader));
  return name === "size" ? parseComparison(reader, readSize(reader, name)) : parseFunction(reader, name);
}

function parseComparison(reader: ExpressionReader, left: Operand): Condition {
  if (reader.takeKeyword("BETWEEN")) return parseBetween(reader, left);
  if (reader.takeKeyword("IN")) return parseIn(reader, left);
  const token = reader.peek();
  if (token?.kind !== "symbol" || !comparators.includes(token.text)) {
    throw left.kind === "size" ? misusedFunction("size") : reader.unexpected();
  }
  const comparator = reader.next().text as Comparator;
  const right = readOperand(reader);
  requireDistinct(comparator, left, right);
  if (comparator !== "=" && comparator !== "<>") requireOrder(comparator, left, right);
  return { kind: "compare", comparator, left, right };
}

function parseBetween(reader: ExpressionReader, value: Operand): Condition {
  const low = readOperand(reader);
  if (!reader.takeKeyword("AND")) throw reader.unexpected();
  const high = readOperand(reader);
  requireOrder("BETWEEN", value, low, high);
  if (low.kind === "value" && high.kind === "value") {
    if (typeOf(low.value) !== typeOf(high.value)) {
      throw new SyntaxFault("The BETWEEN operator requires same data type for lower and upper bounds");
    }
    if (compareValues(">", low.value, high.value)) {
      throw new SyntaxFault(
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound",
      );
    }
  }
  return { kind: "between", value, low, high };
}

function parseIn(reader: ExpressionReader, value: Operand): Condition {
  reader.requireSymbol("(");
  const options = [readOperand(reader)];
  while (reader.takeSymbol(",")) options.push(readOperand(reader));
  reader.requireSymbol(")");
  if (options.length <= maxInOptions) return { kind: "in", value, options };
  throw new SyntaxFault(`The IN operator is limited to ${maxInOptions} operands`);
}

/** Only texts and numbers have an order. */
function requireOrder(operator: string, ...operands: Operand[]): void {
  for (const operand of operands) {
    if (operand.kind !== "value" || ["S", "N"].includes(typeOf(operand.value))) continue;
    throw wrongType("operator", operator, typeOf(operand.value));
  }
}

const typeNames = ["S", "N", "BOOL", "NULL", "L", "M", "B", "SS", "NS", "BS"];

/** Reads a function that is a condition by itself, after its `name(`. @throws SyntaxFault */
function parseFunction(reader: ExpressionReader, name: string): Condition {
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
