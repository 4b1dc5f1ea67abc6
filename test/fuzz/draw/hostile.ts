import type { Random } from "../../support/random.ts";

/** JSON that `JSON.stringify` cannot write, such as 1e999. `writeJson` writes it unchanged. */
class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): string {
    return `@raw:${Buffer.from(this.text).toString("hex")}@`;
  }
}

/** The JSON of a value that may contain `RawJson`. */
export function writeJson(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return text.replaceAll(/"@raw:([0-9a-f]*)@"/g, (_, hex) => Buffer.from(hex, "hex").toString());
}

const nested = (levels: number) => new RawJson(`${"[".repeat(levels)}${"]".repeat(levels)}`);
const nestedObjects = (levels: number) => new RawJson(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);

const prototypeNames = [
  ...["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "then", "length"],
  ...["__defineGetter__", "isPrototypeOf", "toJSON"],
];

const numbers = [
  ...[-1, 0, -0, 0.5, 1.5, 255, 65_536, 2 ** 31, 2 ** 53, 1e21, 1e126, 1e308, -1e308, 5e-324],
  ...["1e999", "-1e999", "123456789012345678901234567890", "0.1234567890123456789012345678901234567890"].map(
    (text) => new RawJson(text),
  ),
];

const numberWords = ["NaN", "Infinity", "-Infinity", "-1", "0x10", "1e3", "٣", "undefined", "null", "true"];

const paths = [
  ...["..", ".", "/", "//", "../../../../etc/passwd", "/etc/passwd", "..\\..\\secret", "a/../../b", "a//b"],
  ...["....//....//etc/passwd", "..%2f..%2fetc%2fpasswd", "%00", "file:///etc/passwd", "~/.ssh/id_rsa"],
  ...["skills/../../x", "memory/../../../x", "a\u0000b", "con", "CON.txt", ".git/config", "x/"],
];

const texts = [
  ...[
    "",
    " ",
    "\t\n",
    "\u0000",
    "\ud800",
    "\udfff tail",
    "\u202egnp.exe",
    "\ufeff",
    "İ",
    "ß",
    "ﬀ",
    "e\u0301",
  ],
  ...[
    "👩‍👩‍👧‍👦",
    "张三",
    "\u001b[31mred\u001b[0m",
    "\u001b]0;title\u0007",
    "a\r\nb: c",
    "*",
    "**",
    "?",
    "'",
    '"',
    "\\",
  ],
  ...[
    "#",
    "##",
    "S#",
    "M#",
    "a#b",
    "a:b",
    ":",
    "::::::",
    "agent:",
    "agent::",
    "agent:scratch:a:b:c:d:e:f:g:h",
  ],
  ...["http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:1/", "data:text/plain,x", "javascript:1"],
  ...["{{7*7}}", "%s%n", "<script>", "' OR 1=1 --", "/reset", "/model x/y", "/think high", "/new", "/status"],
];

const large: readonly (() => unknown)[] = [
  () => "x".repeat(200),
  () => "é".repeat(256),
  () => "é".repeat(1000),
  () => "张".repeat(1024),
  () => "x".repeat(2048),
  () => "x".repeat(5000),
  () => "x".repeat(60_000),
  () => "é".repeat(20_000),
  () => "\u0000".repeat(2000),
  () => "../".repeat(400),
  () => " word".repeat(4000),
  () => Array.from({ length: 2000 }, () => null),
  () => Object.fromEntries(Array.from({ length: 800 }, (_, index) => [`k${index}`, index])),
];

const containers: readonly (() => unknown)[] = [
  () => [],
  () => ({}),
  () => [[]],
  () => [null],
  () => nested(31),
  () => nested(40),
  () => nested(200),
  () => nested(5000),
  () => nestedObjects(33),
  () => nestedObjects(3000),
  () => new RawJson('{"__proto__":{"isAdmin":true,"scopes":["admin"]}}'),
  () => new RawJson('{"constructor":{"prototype":{"isAdmin":true}}}'),
  () => new RawJson('{"a":1,"a":2}'),
  () => ({ "": 1, " ": 2, "a.b": 3, "a[0]": 4 }),
  () => ({ length: -1, 0: "x" }),
];

/** A value that careless code misreads. @param names further texts, such as names of protected things */
export function hostileValue(random: Random, names: readonly string[]): unknown {
  const kind = random.integer(20);
  if (kind < 3) return random.pick(prototypeNames);
  if (kind < 6) return random.pick(numbers);
  if (kind < 7) return random.pick(numberWords);
  if (kind < 9) return random.pick(paths);
  if (kind < 12) return random.pick(texts);
  if (kind < 15 && names.length > 0) return random.pick(names);
  if (kind < 16) return random.pick(large)();
  if (kind < 18) return random.pick(containers)();
  return random.pick([null, true, false]);
}

/** A field name that careless code misreads. */
export function hostileName(random: Random): string {
  return random.pick([
    ...prototypeNames,
    "",
    " ",
    "a.b",
    "0",
    "\u0000",
    "pk",
    "sk",
    "mode",
    "scopes",
    "tokenId",
  ]);
}
