/** Slack's markup `<…>` and the three characters that it escapes. */
const marks = /<([^<>]*)>|&(amp|lt|gt);/g;

const characters: Record<string, string> = { amp: "&", lt: "<", gt: ">" };

/**
 * Converts Slack's markup to the text that users see
 * (https://docs.slack.dev/messaging/formatting-message-text): mentions and channels by their names where
 * Slack gives them, links by their labels and addresses.
 */
export function decodeSlackText(text: string): string {
  return text.replace(marks, (_whole, mark: string | undefined, escaped: string | undefined) =>
    mark === undefined ? (characters[escaped ?? ""] ?? "") : decodeMark(mark),
  );
}

/** Escapes a text for Slack, so that it contains no mention or link markup. */
export function encodeSlackText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function decodeMark(mark: string): string {
  const [target = "", ...rest] = mark.split("|");
  const label = decodeSlackText(rest.join("|"));
  if (target.startsWith("@")) return `@${label || target.slice(1)}`;
  if (target.startsWith("#")) return `#${label || target.slice(1)}`;
  if (target.startsWith("!")) return label || `@${target.slice(1)}`;
  return decodeLink(decodeSlackText(target), label);
}

/** Slack turns URLs into links automatically; their label equals the URL. */
function decodeLink(address: string, label: string): string {
  const bare = address.replace(/^(?:https?:\/\/|mailto:|tel:)/, "");
  if (label === "" || label === address) return address;
  return label.replace(/\/$/, "") === bare.replace(/\/$/, "") ? label : `${label} (${address})`;
}
