import { ValidationException } from "./item-validation.ts";

/** A decimal number: `sign × digits × 10^exponent`, where `digits` has no zeros at its end. Zero is `0 × 10^0`. */
interface Decimal {
  /** With its sign. */
  digits: bigint;
  exponent: number;
}

const syntax = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,9}))?$/;
const maxDigits = 38;
const maxMagnitude = 125;
const minMagnitude = -130;

/**
 * Reads a number of DynamoDB's wire. The store keeps JavaScript's numbers.
 * @throws ValidationException for a text that is no number, is out of DynamoDB's range, or that a JavaScript
 * number does not hold exactly
 */
export function parseNumber(text: string): number {
  return toNumber(parseDecimal(text));
}

/** The number without an exponent, as DynamoDB writes it: `1e21` is `1000000000000000000000`. */
export function formatNumber(value: number): string {
  return formatDecimal(parseDecimal(String(value)));
}

/**
 * `left + right`, exactly: 0.1 + 0.2 is 0.3.
 * @throws ValidationException when a JavaScript number does not hold the sum exactly
 */
export function addNumbers(left: number, right: number): number {
  if (Number.isSafeInteger(left) && Number.isSafeInteger(right)) return left + right;
  const [a, b] = [parseDecimal(String(left)), parseDecimal(String(right))];
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = ({ digits, exponent: own }: Decimal) => digits * 10n ** BigInt(own - exponent);
  return toNumber(normalized(scaled(a) + scaled(b), exponent));
}

function parseDecimal(text: string): Decimal {
  const match = syntax.exec(text);
  const [, sign = "", whole = "", fraction = "", power = "0"] = match ?? [];
  if (match === null || whole + fraction === "") {
    throw new ValidationException(`The parameter cannot be converted to a numeric value: ${text}`);
  }
  if (whole.length + fraction.length > 400) throw tooManyDigits();
  return normalized(BigInt(`${sign === "-" ? "-" : ""}${whole}${fraction}`), Number(power) - fraction.length);
}

function normalized(digits: bigint, exponent: number): Decimal {
  if (digits === 0n) return { digits, exponent: 0 };
  const text = String(digits);
  const kept = text.replace(/0+$/, "");
  return { digits: BigInt(kept), exponent: exponent + text.length - kept.length };
}

function toNumber(decimal: Decimal): number {
  const digits = String(decimal.digits).replace("-", "");
  const magnitude = decimal.exponent + digits.length - 1;
  if (decimal.digits !== 0n && magnitude > maxMagnitude) {
    throw new ValidationException(
      "Number overflow. Attempting to store a number with magnitude larger than supported range",
    );
  }
  if (decimal.digits !== 0n && magnitude < minMagnitude) {
    throw new ValidationException(
      "Number underflow. Attempting to store a number with magnitude smaller than supported range",
    );
  }
  if (digits.length > maxDigits) throw tooManyDigits();
  const text = formatDecimal(decimal);
  const value = Number(text);
  if (formatNumber(value) === text) return value;
  throw new ValidationException(
    `The local table keeps JavaScript's numbers, and none of them is exactly ${text}`,
  );
}

function tooManyDigits(): Error {
  return new ValidationException(`Attempting to store more than ${maxDigits} significant digits in a Number`);
}

function formatDecimal({ digits, exponent }: Decimal): string {
  const sign = digits < 0n ? "-" : "";
  const text = String(digits).replace("-", "");
  if (exponent >= 0) return `${sign}${text}${"0".repeat(exponent)}`;
  const padded = text.padStart(1 - exponent, "0");
  return `${sign}${padded.slice(0, exponent)}.${padded.slice(exponent)}`;
}
