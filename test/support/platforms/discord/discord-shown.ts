/** What users see of a message's content: Discord's markdown, without its marks. Links are shown by their labels. */
export function discordShown(content: string): string {
  const pieces = content.split(/(```(?:[\w+#.-]+\n)?[\s\S]*?```)/);
  return pieces
    .map((piece, index) => {
      if (index % 2 === 1)
        return piece
          .slice(3, -3)
          .replace(/^[\w+#.-]+\n/, "\n")
          .trim();
      if (piece.includes("```")) throw new Error("an open fence");
      return piece.split("\n").map(shownLine).join("\n");
    })
    .join("");
}

function shownLine(line: string): string {
  return shown(line.replace(/^> /, "").replace(/^#{1,3} /, ""));
}

/** Marks, in the order in which they are tried. Those with a group show it. */
const marks: [RegExp, (found: RegExpExecArray) => string][] = [
  [/\\([^0-9A-Za-z\s])/y, ([, one = ""]) => one],
  [/(`+)([\s\S]*?[^`])\1(?!`)/y, ([, , code = ""]) => code.trim()],
  [/https?:\/\/[^\s<]+[^<.,:;"'\])\s]/y, ([url]) => url],
  [/\[((?:\\.|[^\\\]])*)\]\((https?:\/\/[^\s)]*|mailto:[^\s)]*)\)/y, ([, label = ""]) => shown(label)],
  [/\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)/y, ([, inside = ""]) => shown(inside)],
  [/__((?:\\[\s\S]|[^\\])+?)__(?!_)/y, ([, inside = ""]) => shown(inside)],
  [
    /\*(?=\S)((?:\*\*|\\[\s\S]|\s+(?:\\[\s\S]|[^\s*\\]|\*\*)|[^\s*\\])+?)\*(?!\*)/y,
    ([, inside = ""]) => shown(inside),
  ],
  [/_((?:__|\\[\s\S]|[^\\_])+?)_(?!\w)/y, ([, inside = ""]) => shown(inside)],
  [/~~([\s\S]+?)~~(?!_)/y, ([, inside = ""]) => shown(inside)],
  [/\|\|([\s\S]+?)\|\|/y, ([, inside = ""]) => shown(inside)],
];

function shown(text: string): string {
  let result = "";
  for (let at = 0; at < text.length; ) {
    const [length, seen] = first(text, at) ?? [1, text[at] ?? ""];
    result += seen;
    at += length;
  }
  return result;
}

function first(text: string, at: number): [number, string] | undefined {
  for (const [pattern, show] of marks) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) return [found[0].length, show(found)];
  }
  return undefined;
}
