/** Orders texts by their UTF-8 bytes, as DynamoDB orders keys. Negative when `a` comes first, 0 when they are equal. */
export function compareText(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return byteOrder(left) - byteOrder(right);
  }
  return a.length - b.length;
}

/** UTF-8 puts surrogate pairs (U+10000 and above) after U+E000 to U+FFFF; UTF-16 puts them before. */
function byteOrder(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
