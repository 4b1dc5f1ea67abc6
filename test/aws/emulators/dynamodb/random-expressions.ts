import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { Random } from "../../../support/random.ts";

/** The parts of a request that an expression needs besides its text. */
export interface Bindings {
  names: Record<string, string>;
  values: Record<string, AttributeValue>;
}

const scalarPaths = [
  "n",
  "m",
  "words",
  "flag",
  "nothing",
  "box.x",
  "box.y",
  "elems[0]",
  "#odd",
  "#odd.x",
  "absentee",
];
const paths = [
  ...scalarPaths,
  "elems",
  "box",
  "box.deep.z",
  "box.deep",
  "elems[1].x",
  "elems[3]",
  "absentee.x",
  "words.x",
];

/** Names and values that stand for themselves, so that an expression binds what it uses. */
export function bindingsOf(...expressions: (string | undefined)[]): Bindings {
  const text = expressions.join(" ");
  const used = (entries: object) => Object.entries(entries).filter(([key]) => isUsed(text, key));
  return {
    names: Object.fromEntries(used({ "#odd": "odd.name", "#size": "size" })),
    values: Object.fromEntries(used(values)),
  };
}

function isUsed(text: string, key: string): boolean {
  return new RegExp(`${key}(?![0-9A-Za-z_])`).test(text);
}

const values: Record<string, AttributeValue> = {
  ":one": { N: "1" },
  ":half": { N: "0.5" },
  ":ten": { N: "10" },
  ":less": { N: "-3" },
  ":a": { S: "a" },
  ":ab": { S: "ab" },
  ":b": { S: "b" },
  ":true": { BOOL: true },
  ":null": { NULL: true },
  ":elems": { L: [{ S: "made" }, { N: "7" }] },
  ":box": { M: { x: { N: "4" }, deep: { M: { z: { S: "zed" } } } } },
  ":S": { S: "S" },
  ":N": { S: "N" },
  ":M": { S: "M" },
};

const numbers = [":one", ":half", ":ten", ":less"];
const texts = [":a", ":ab", ":b"];
const scalars = [...numbers, ...texts, ":true", ":null"];
const ordered = [...numbers, ...texts];
const bounds = [
  ":one AND :ten",
  ":less AND :half",
  ":a AND :b",
  ":ab AND :b",
  ":one AND :one",
  ":b AND :a",
  ":one AND :a",
];

/** A ConditionExpression or FilterExpression; about one in twelve is wrong. */
export function randomCondition(random: Random, depth = 2): string {
  const inner = () => randomCondition(random, depth - 1);
  const shape = depth === 0 ? 0 : random.integer(8);
  if (shape === 1) return `(${inner()}) AND ${inner()}`;
  if (shape === 2) return `${inner()} or (${inner()})`;
  if (shape === 3) return `NOT ${randomPredicate(random)}`;
  if (shape === 4) return `not (${inner()})`;
  if (shape === 5) return `${inner()} AND ${inner()} OR ${inner()}`;
  return random.integer(30) === 0 ? random.pick(wrongConditions) : randomPredicate(random);
}

function randomPredicate(random: Random): string {
  const path = random.pick(paths);
  switch (random.integer(10)) {
    case 0:
      return `attribute_exists(${path})`;
    case 1:
      return `attribute_not_exists(${path})`;
    case 2:
      return `attribute_type(${path}, ${random.pick([":S", ":N", ":M"])})`;
    case 3:
      return `begins_with(${path}, ${random.pick(texts)})`;
    case 4:
      return `contains(${path}, ${random.pick(ordered)})`;
    case 5:
      return `size(${path}) ${random.pick(["=", ">", "<="])} ${random.pick(numbers)}`;
    case 6:
      return `${path} IN (${random.pick(scalars)}, ${random.pick(scalars)})`;
    case 7:
      return `${path} between ${random.pick(bounds)}`;
    case 8:
      return `${random.pick(ordered)} ${random.pick(["<", ">="])} ${path}`;
    default:
      return `${path} ${random.pick(["=", "<>"])} ${random.pick(scalars)}`;
  }
}

const wrongConditions = [
  "((n = :one))",
  "n = :undefined",
  "#undefined = :one",
  "size = :one",
  "size(n)",
  "attribute_exists(n) = :true",
  "n = n",
  "begins_with(n)",
  "begins_with(n, :one)",
  "attribute_exists(:one)",
  "attribute_type(n, :a)",
  "unheard_of(n)",
  "n =",
  "n = :one AND",
  "(n = :one",
  "n = :one)",
  "n == :one",
  "n ! :one",
  "pk.x = :one",
  "_n = :one",
  "n IN ()",
  "elems[x] = :one",
  "elems[-1] = :one",
  "",
];

/**
 * An UpdateExpression; about one in eight is wrong. None removes list elements beside another action: dynalite removes
 * them one by one, so that an index means another element after the first.
 */
export function randomUpdate(random: Random): string {
  if (random.integer(12) === 0) return random.pick(wrongUpdates);
  const sections = [
    random.integer(3) > 0 ? `SET ${some(random, () => randomSet(random))}` : "",
    random.integer(4) === 0 ? `REMOVE ${some(random, () => random.pick(removable))}` : "",
    random.integer(4) === 0 ? `add ${some(random, () => randomAdd(random))}` : "",
  ].filter(Boolean);
  if (random.integer(2) === 0) sections.reverse();
  return sections.join(" ") || "REMOVE elems[0]";
}

const removable = [
  "n",
  "m",
  "absentee",
  "box.x",
  "box.deep",
  "box",
  "words",
  "#odd",
  "absentee.x",
  "flag",
  "elems",
];

function some(random: Random, make: () => string): string {
  return Array.from({ length: 1 + random.integer(2) }, make).join(", ");
}

const nested = ["box.x", "box.y", "box.deep.z", "#odd.x", "absentee.x"];

function randomSet(random: Random): string {
  const target = random.pick(
    random.integer(3) === 0 ? nested : ["n", "m", "words", "flag", "made", "made2", "#odd"],
  );
  const number = () =>
    random.pick(["n", "box.x", ...numbers, "if_not_exists(n, :one)", "if_not_exists(m, :one)"]);
  switch (random.integer(7)) {
    case 0:
      return `${target} = ${number()} + ${number()}`;
    case 1:
      return `${target} = ${number()} - ${number()}`;
    case 2:
      return `${target} = if_not_exists(${random.pick(paths)}, ${random.pick([...scalars, "n"])})`;
    case 3:
      return `elems = list_append(${random.pick(["elems", ":elems", "if_not_exists(elems, :elems)", "if_not_exists(elems, :elems)", "words"])}, :elems)`;
    case 4:
      return `${random.pick(["elems[0]", "elems[1]", "elems[9]", "elems[1].x", "box", "elems"])} = ${random.pick([...scalars, ":box", ":elems"])}`;
    case 5:
      return `${target} = ${random.pick(scalarPaths)}`;
    default:
      return `${target} = ${random.pick([...scalars, ":elems", ":box"])}`;
  }
}

/** Not to what a SET reads: dynalite adds to the copy, too. */
function randomAdd(random: Random): string {
  return `${random.pick(["tally", "tally2", "tally", "tally2", "absentee.x", "words"])} ${random.pick(numbers)}`;
}

const wrongUpdates = [
  "SET n = :one SET m = :one",
  "SET n = :undefined",
  "SET size = :one",
  "SET n = absentee",
  "SET n",
  "n = :one",
  "REMOVE n,",
  "ADD n :a",
  "ADD n m",
  "DELETE n :one",
  "SET n = :one + :a",
  "SET elems = list_append(:one, :elems)",
  "SET n = unheard_of(n, :one)",
  "SET n = if_not_exists(n)",
  "SET n = if_not_exists(:one, :one)",
  "SET pk = :a",
  "SET sk = :a",
  "REMOVE pk",
  "SET box.x = :one, box = :box",
  "SET box.x = :one, box[0] = :one",
  "SET dueAt = :a",
  "SET duePk = :one",
  "SET pk.x = :one",
  "",
];

/** A ProjectionExpression; about one in eight is wrong. */
export function randomProjection(random: Random): string {
  if (random.integer(8) === 0)
    return random.pick(["n, n", "box, box.x", "n,", "size", "pk.x", "n m", "#undefined"]);
  return [...new Set(some(random, () => random.pick(paths)).split(", "))].join(", ");
}
