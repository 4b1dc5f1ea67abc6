/** What users see of a text: WhatsApp's formatting, without its marks. */
export function whatsappShown(text: string): string {
  const pieces = text.split(/(```[\s\S]*?```)/);
  return pieces
    .map((piece, index) => {
      if (index % 2 === 1) return piece.slice(3, -3).trim();
      if (piece.includes("```")) throw new Error("an open fence");
      return piece
        .split("\n")
        .map((line) => shown(line.replace(/^> /, "")))
        .join("\n");
    })
    .join("");
}

/**
 * A mark encloses words: no letter or digit is next to it outside, and no space inside. Code has no marks, and addresses
 * neither: they are held out.
 */
function shown(line: string): string {
  const pieces = line.split(/(`[^`]+`|https?:\/\/\S+)/);
  const held: string[] = [];
  const joined = pieces
    .map((piece, index) => {
      if (index % 2 === 0) return piece;
      held.push(piece.startsWith("`") ? piece.slice(1, -1) : piece);
      return "\ue000";
    })
    .join("");
  let text = joined;
  for (const mark of ["*", "_", "~"]) {
    const pair = new RegExp(
      `(?<![\\p{L}\\p{N}])[${mark}](?=[^\\s])([^${mark}]*[^\\s${mark}])[${mark}](?![\\p{L}\\p{N}])`,
      "gu",
    );
    text = text.replace(pair, "$1");
  }
  return text.replaceAll("\ue000", () => held.shift() ?? "");
}
