import type { Parts } from "../../../../../local/items/document-path.ts";
import type { ItemValue } from "../../../../../shared/world/world.ts";
import { invalid } from "../dynamodb-error.ts";
import { SyntaxFault, type Token, tokenize } from "./expression-tokens.ts";
import { isReservedWord } from "./reserved-words.ts";
import type { Substitutions } from "./substitutions.ts";

const maxExpressionBytes = 4096;

/**
 * Parses one expression of a request.
 * @param field the request's field that holds it, such as `ConditionExpression`
 * @param parse reads the whole expression from the reader
 * @throws AwsError ValidationException that begins with `Invalid {field}: `
 */
export function parseExpression<T>(
  field: string,
  text: string,
  substitutions: Substitutions,
  parse: (reader: ExpressionReader) => T,
): T {
  if (text.trim() === "") throw invalid(`Invalid ${field}: The expression can not be empty;`);
  if (Buffer.byteLength(text) > maxExpressionBytes) {
    throw invalid(`Invalid ${field}: Expression size has exceeded the maximum allowed size`);
  }
  try {
    const reader = new ExpressionReader(tokenize(text), substitutions);
    const parsed = parse(reader);
    reader.requireEnd();
    return parsed;
  } catch (error) {
    if (error instanceof SyntaxFault) throw invalid(`Invalid ${field}: ${error.message}`);
    throw error;
  }
}

/** Reads the tokens of one expression from left to right. Every method throws SyntaxFault where it cannot go on. */
export class ExpressionReader {
  private readonly tokens: readonly Token[];
  private readonly substitutions: Substitutions;
  private position = 0;

  constructor(tokens: readonly Token[], substitutions: Substitutions) {
    this.tokens = tokens;
    this.substitutions = substitutions;
  }

  peek(ahead = 0): Token | undefined {
    return this.tokens[this.position + ahead];
  }

  next(): Token {
    const token = this.peek();
    if (token === undefined) throw this.unexpected();
    this.position += 1;
    return token;
  }

  /** Takes the symbol if it comes next. */
  takeSymbol(symbol: string): boolean {
    const token = this.peek();
    if (token?.kind !== "symbol" || token.text !== symbol) return false;
    this.position += 1;
    return true;
  }

  requireSymbol(symbol: string): void {
    if (!this.takeSymbol(symbol)) throw this.unexpected();
  }

  /** Whether the keyword comes next, in upper or lower case. */
  isKeyword(keyword: string): boolean {
    const token = this.peek();
    return token?.kind === "name" && token.text.toUpperCase() === keyword;
  }

  takeKeyword(keyword: string): boolean {
    if (!this.isKeyword(keyword)) return false;
    this.position += 1;
    return true;
  }

  /** Takes `name(` if it comes next. */
  takeFunction(): string | undefined {
    const [name, parenthesis] = [this.peek(), this.peek(1)];
    if (name?.kind !== "name" || parenthesis?.text !== "(") return undefined;
    this.position += 2;
    return name.text;
  }

  /** A document path such as `a.#b[2].c`. */
  path(): Parts {
    const parts: (string | number)[] = [this.attributeName()];
    for (;;) {
      if (this.takeSymbol(".")) parts.push(this.attributeName());
      else if (this.takeSymbol("[")) parts.push(this.listIndex());
      else return parts;
    }
  }

  /** Takes a `:value` if it comes next. */
  takeValue(): ItemValue | undefined {
    const token = this.peek();
    if (token?.kind !== "valueRef") return undefined;
    this.position += 1;
    const value = this.substitutions.value(token.text);
    if (value !== undefined) return value;
    throw new SyntaxFault(
      `An expression attribute value used in expression is not defined; attribute value: ${token.text}`,
    );
  }

  requireEnd(): void {
    if (this.peek() !== undefined) throw this.unexpected();
  }

  unexpected(): SyntaxFault {
    const token = this.peek();
    const near = this.tokens.slice(Math.max(0, this.position - 1), this.position + 2);
    return new SyntaxFault(
      `Syntax error; token: "${token?.text ?? "<EOF>"}", near: "${near.map(({ text }) => text).join(" ")}"`,
    );
  }

  private attributeName(): string {
    const token = this.peek();
    if (token?.kind !== "name" && token?.kind !== "nameRef") throw this.unexpected();
    this.position += 1;
    return token.kind === "name" ? this.plainName(token.text) : this.referredName(token.text);
  }

  private plainName(name: string): string {
    if (!isReservedWord(name)) return name;
    throw new SyntaxFault(`Attribute name is a reserved keyword; reserved keyword: ${name}`);
  }

  private referredName(reference: string): string {
    const name = this.substitutions.name(reference);
    if (name !== undefined) return name;
    throw new SyntaxFault(
      `An expression attribute name used in the document path is not defined; attribute name: ${reference}`,
    );
  }

  private listIndex(): number {
    const token = this.next();
    if (token.kind !== "index") throw this.unexpected();
    this.requireSymbol("]");
    return Number(token.text);
  }
}
