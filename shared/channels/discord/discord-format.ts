import type { Format } from "../outbound/leaves.ts";
import { isAddress, type Marks, markedText, withoutFences } from "../outbound/marked-text.ts";

/** Discord's markdown (https://support.discord.com/hc/en-us/articles/210298617). */
export const discordFormat: Format = {
  tableColumns: 56,
  bullet: "-",
  render: (leaves) => ({ text: markedText(leaves, marks) }),
};

const marks: Marks = {
  bold: "**",
  italic: "*",
  strike: "~~",
  showsLanguage: true,
  heading: (depth) => `${"#".repeat(Math.min(depth, 3))} `,
  code: (text) => {
    if (!text.includes("`")) return `\`${text}\``;
    return `\`\` ${withoutFences(text)} \`\``;
  },
  link(url, label, marked) {
    if (isAddress(label, url)) return url.startsWith("mailto:") ? label : url;
    // Discord does not hide an address behind a label that looks like another.
    const target = url.replaceAll("(", "%28").replaceAll(")", "%29");
    return /:\/\//.test(label) ? `${marked} (${target})` : `[${marked}](${target})`;
  },
  plain(text, isLineStart) {
    const escaped = text.replace(/[\\*_~|`<[\]]/g, "\\$&");
    if (!isLineStart) return escaped;
    return escaped.replace(/^(\s*)([-+#>])/, "$1\\$2").replace(/^(\s*\d+)\./, "$1\\.");
  },
};
