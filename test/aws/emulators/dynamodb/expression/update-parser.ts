import type { Parts } from "../../../../../local/items/document-path.ts";
import { type AttributeType, typeOf } from "../attribute-value.ts";
import { wrongType } from "./condition-operand.ts";
import type { ExpressionReader } from "./expression-reader.ts";
import { SyntaxFault } from "./expression-tokens.ts";
import { requireApart } from "./path-overlap.ts";
import type { Action, Formula } from "./update-syntax.ts";

const operandTypes: Record<AttributeType, string> = {
  S: "STRING",
  N: "NUMBER",
  BOOL: "BOOLEAN",
  NULL: "NULL",
  L: "LIST",
  M: "MAP",
};

/** Reads the sections of an UpdateExpression, each at most once. @throws SyntaxFault */
export function parseUpdate(reader: ExpressionReader): Action[] {
  const actions: Action[] = [];
  const seen = new Set<string>();
  while (reader.peek() !== undefined) {
    const section = reader.next().text.toUpperCase();
    const parseAction = sections[section];
    if (parseAction === undefined) throw reader.unexpected();
    if (seen.has(section)) {
      throw new SyntaxFault(`The "${section}" section can only be used once in an update expression;`);
    }
    seen.add(section);
    do actions.push(parseAction(reader));
    while (reader.takeSymbol(","));
  }
  requireApart(actions.map(({ path }) => path));
  return actions;
}

const sections: Record<string, (reader: ExpressionReader) => Action> = {
  SET(reader) {
    const path = reader.path();
    reader.requireSymbol("=");
    return { kind: "set", path, formula: parseFormula(reader) };
  },
  REMOVE: (reader) => ({ kind: "remove", path: reader.path() }),
  ADD(reader) {
    const path = reader.path();
    const by = reader.takeValue();
    if (by === undefined) throw reader.unexpected();
    if (typeof by !== "number") throw wrongType("operator", "ADD", operandTypes[typeOf(by)]);
    return { kind: "add", path, by };
  },
  DELETE(reader) {
    reader.path();
    const elements = reader.takeValue();
    if (elements === undefined) throw reader.unexpected();
    throw wrongType("operator", "DELETE", operandTypes[typeOf(elements)]);
  },
};

function parseFormula(reader: ExpressionReader): Formula {
  const left = parseOperand(reader);
  const operator = reader.takeSymbol("+") ? "+" : reader.takeSymbol("-") ? "-" : undefined;
  if (operator === undefined) return left;
  const right = parseOperand(reader);
  for (const operand of [left, right]) requireType(operator, operand, "N");
  return { kind: operator, left, right };
}

function parseOperand(reader: ExpressionReader): Formula {
  const name = reader.takeFunction();
  if (name !== undefined) return parseFunctionCall(reader, name);
  const value = reader.takeValue();
  return value === undefined ? { kind: "path", path: reader.path() } : { kind: "value", value };
}

function parseFunctionCall(reader: ExpressionReader, name: string): Formula {
  if (name !== "if_not_exists" && name !== "list_append") {
    throw new SyntaxFault(`Invalid function name; function: ${name}`);
  }
  const operands = [parseOperand(reader)];
  while (reader.takeSymbol(",")) operands.push(parseOperand(reader));
  reader.requireSymbol(")");
  const [left, right] = operands;
  if (left === undefined || right === undefined || operands.length > 2) {
    throw new SyntaxFault(
      `Incorrect number of operands for operator or function; operator or function: ${name}, number of operands: ${operands.length}`,
    );
  }
  if (name === "if_not_exists") return { kind: name, path: requirePath(name, left), otherwise: right };
  for (const operand of operands) requireType(name, operand, "L");
  return { kind: name, left, right };
}

function requirePath(name: string, operand: Formula): Parts {
  if (operand.kind === "path") return operand.path;
  throw new SyntaxFault(`Operator or function requires a document path; operator or function: ${name}`);
}

/** Refuses a `:value` of another type; what a path leads to is known only when the update is carried out. */
function requireType(name: string, operand: Formula, type: AttributeType): void {
  if (operand.kind !== "value" || typeOf(operand.value) === type) return;
  throw wrongType("operator or function", name, typeOf(operand.value));
}
