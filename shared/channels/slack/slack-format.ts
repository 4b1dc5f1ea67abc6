import {
  type Format,
  groupLeaves,
  type Leaf,
  lineStyle,
  type Rendered,
  styleOf,
  textOf,
} from "../outbound/leaves.ts";
import { encodeSlackText } from "./slack-text.ts";

/** Slack refuses blocks from about 13,000 characters on, including their JSON (`msg_blocks_too_long`). */
const maxBlocks = 12_000;

interface RichText {
  type: string;
  text: string;
  url?: string;
  style?: Record<string, true>;
}

/**
 * A `rich_text` block, in which no text is markup (https://docs.slack.dev/reference/block-kit/blocks/rich-text-block). Notifications
 * show the text without it.
 */
export const slackFormat: Format = {
  tableColumns: 76,
  bullet: "•",
  render(leaves): Rendered {
    const elements = groupLeaves(leaves, placeOf).flatMap(([place, group]) => {
      const content = place === "section" ? withoutOuterLines(group) : group;
      return content.length === 0
        ? []
        : [{ type: `rich_text_${place}`, elements: merged(content.map(richText)) }];
    });
    return {
      text: encodeSlackText(textOf(leaves)),
      formatting: { blocks: [{ type: "rich_text", elements }] },
    };
  },
  fits: (formatting) => JSON.stringify(formatting).length <= maxBlocks,
};

/** The element that a leaf belongs to. Each begins a line of its own. */
function placeOf(leaf: Leaf): "preformatted" | "quote" | "section" {
  const kind = lineStyle(leaf)?.kind;
  return kind === "pre" ? "preformatted" : kind === "quote" ? "quote" : "section";
}

function withoutOuterLines(leaves: readonly Leaf[]): Leaf[] {
  const last = leaves.length - 1;
  return leaves
    .map((leaf, index) => {
      const text = index === 0 ? leaf.text.replace(/^\n+/, "") : leaf.text;
      return { ...leaf, text: index === last ? text.replace(/\n+$/, "") : text };
    })
    .filter(({ text }) => text !== "");
}

/** Neighbours with the same style are one element. */
function merged(elements: readonly RichText[]): RichText[] {
  const found: RichText[] = [];
  for (const one of elements) {
    const last = found.at(-1);
    const isSame = last && JSON.stringify({ ...last, text: "" }) === JSON.stringify({ ...one, text: "" });
    if (isSame) last.text += one.text;
    else found.push({ ...one });
  }
  return found;
}

const marks = ["bold", "italic", "strike", "code"] as const;

function richText(leaf: Leaf): RichText {
  const names: string[] = marks.filter((kind) => styleOf(leaf, kind));
  if (styleOf(leaf, "heading") && !names.includes("bold")) names.push("bold");
  const style =
    names.length > 0 ? { style: Object.fromEntries(names.map((name) => [name, true as const])) } : {};
  const link = styleOf(leaf, "link");
  return link
    ? { type: "link", url: link.url, text: leaf.text, ...style }
    : { type: "text", text: leaf.text, ...style };
}
