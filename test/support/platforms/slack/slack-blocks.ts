/** A block of text, of buttons, or of formatted text (https://docs.slack.dev/reference/block-kit/blocks). */
export interface SlackBlock {
  type: string;
  text?: { type: string; text: string };
  elements?: SlackElement[];
}

/** A button, or a part of formatted text with elements of its own. */
interface SlackElement {
  type: string;
  action_id?: string;
  value?: string;
  text?: { text: string } | string;
  url?: string;
  style?: Record<string, boolean>;
  elements?: SlackElement[];
}

/** A message's buttons. */
export function slackButtons({ blocks = [] }: { blocks?: SlackBlock[] }): SlackElement[] {
  return blocks.flatMap(({ elements = [] }) => elements.filter(({ type }) => type === "button"));
}

export function labelOf({ text }: SlackElement): string {
  return typeof text === "string" ? text : (text?.text ?? "");
}

/** Measured at https://github.com/slackapi/bolt-js/issues/2509. */
const maxBlocks = 13_000;

const parts = ["rich_text_section", "rich_text_preformatted", "rich_text_quote"];
const marks = ["bold", "italic", "strike", "code"];

/** Why Slack refuses the blocks; undefined if it accepts them. */
export function blockFault(blocks: readonly SlackBlock[]): string | undefined {
  if (JSON.stringify(blocks).length > maxBlocks) return "msg_blocks_too_long";
  const buttons = slackButtons({ blocks: [...blocks] });
  const ids = new Set(buttons.map(({ action_id }) => action_id));
  const areButtons = buttons.every((one) => labelOf(one).length <= 75 && (one.value ?? "").length <= 2000);
  if (!areButtons || ids.size !== buttons.length) return "invalid_blocks";
  return blocks.every(isBlock) && blocks.length <= 50 ? undefined : "invalid_blocks";
}

function isBlock({ type, text, elements = [] }: SlackBlock): boolean {
  if (type === "section") return text !== undefined && text.text !== "" && text.text.length <= 3000;
  if (type === "actions") return elements.every((one) => one.type === "button");
  return type === "rich_text" && elements.length > 0 && elements.every(isPart);
}

function isPart({ type, elements = [] }: SlackElement): boolean {
  return parts.includes(type) && elements.length > 0 && elements.every((one) => isText(one, type));
}

function isText({ type, text, url = "", style = {} }: SlackElement, place: string): boolean {
  const isKnown = type === "text" || (type === "link" && /^(https?|mailto):/.test(url));
  const isPlain = place !== "rich_text_preformatted" || Object.keys(style).length === 0;
  return (
    isKnown &&
    isPlain &&
    typeof text === "string" &&
    text !== "" &&
    Object.keys(style).every((one) => marks.includes(one))
  );
}

/** What users see of the blocks; undefined without formatted text. */
export function slackShown(blocks: readonly SlackBlock[]): string {
  const parts = blocks.flatMap(({ elements = [] }) => elements);
  return parts.map(({ elements = [] }) => elements.map(labelOf).join("")).join("\n");
}
