import { typeOf } from "../attribute-value.ts";
import type { Operand } from "./condition-syntax.ts";
import type { ExpressionReader } from "./expression-reader.ts";
import { SyntaxFault } from "./expression-tokens.ts";

/** Each function of conditions with the number of its operands. */
export const functionOperands: Record<string, number> = {
  attribute_exists: 1,
  attribute_not_exists: 1,
  attribute_type: 2,
  begins_with: 2,
  contains: 2,
  size: 1,
};

/** Reads a document path, a `:value` or `size(…)`. @throws SyntaxFault */
export function readOperand(reader: ExpressionReader): Operand {
  const name = reader.takeFunction();
  if (name !== undefined) return readSize(reader, name);
  const value = reader.takeValue();
  return value === undefined ? { kind: "path", path: reader.path() } : { kind: "value", value };
}

/** Reads the rest of a function that stands for a value, after its `name(`: only `size` does. @throws SyntaxFault */
export function readSize(reader: ExpressionReader, name: string): Operand {
  const operands = readOperands(reader, name);
  if (name !== "size") throw misusedFunction(name);
  const [of] = operands;
  if (of === undefined) throw reader.unexpected();
  if (of.kind === "size") throw misusedFunction("size");
  if (of.kind === "value" && ["N", "BOOL", "NULL"].includes(typeOf(of.value))) {
    throw wrongType("operator or function", "size", typeOf(of.value));
  }
  return { kind: "size", of };
}

/** Reads the operands of a function, after its `name(`. @throws SyntaxFault when their number is wrong */
export function readOperands(reader: ExpressionReader, name: string): Operand[] {
  const expected = Object.hasOwn(functionOperands, name) ? functionOperands[name] : undefined;
  if (expected === undefined) throw new SyntaxFault(`Invalid function name; function: ${name}`);
  const operands = [readOperand(reader)];
  while (reader.takeSymbol(",")) operands.push(readOperand(reader));
  reader.requireSymbol(")");
  if (operands.length === expected) return operands;
  throw new SyntaxFault(
    `Incorrect number of operands for operator or function; operator or function: ${name}, number of operands: ${operands.length}`,
  );
}

/** Refuses a comparison of a document path with itself. @throws SyntaxFault */
export function requireDistinct(operator: string, left: Operand, right: Operand): void {
  if (left.kind !== "path" || right.kind !== "path") return;
  if (JSON.stringify(left.path) !== JSON.stringify(right.path)) return;
  throw new SyntaxFault(
    `The first operand must be distinct from the remaining operands for this operator or function; operator: ${operator}, first operand: [${left.path.join(", ")}]`,
  );
}

export function misusedFunction(name: string): SyntaxFault {
  return new SyntaxFault(
    `The function is not allowed to be used this way in an expression; function: ${name}`,
  );
}

/** @param role what DynamoDB calls `name` in the message: `operator`, or `operator or function` */
export function wrongType(role: string, name: string, type: string): SyntaxFault {
  return new SyntaxFault(
    `Incorrect operand type for operator or function; ${role}: ${name}, operand type: ${type}`,
  );
}
