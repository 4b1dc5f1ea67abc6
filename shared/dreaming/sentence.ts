/** Characters of a promoted memory. One of Chinese, Japanese, Korean or Thai counts twice: it says more. */
const least = 12;
const most = 300;

const dense = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/gu;

/** Signs that begin a heading, a quote, a table, code, a command's prompt, or data. */
const noBeginning = /^(?:[#>|$%`~{}[\]<]|\*{3}|-{3}|={3}|!\[|https?:\/\/\S+$)/;
/** Who said it: a line of a transcript. */
const speaker = /^(?:user|assistant|system|tool|human|ai)\s*:/i;
/** A command with what follows one: an option, a path, a pipe. */
const command =
  /^(?:sudo|npm|npx|yarn|pnpm|node|git|cd|ls|cat|grep|find|rm|cp|mv|mkdir|chmod|curl|wget|ssh|scp|docker|kubectl|aws|cdk|pip3?|python3?|apt(?:-get)?|brew|make|export|echo|bash|sh|gsv)\s.*(?:\s-{1,2}\w|\S\/\S|[|&<>]|=\S|\.\w{1,4}\b)|^(?:npm|npx|yarn|pnpm) (?:i|ci|run|install|test|start|exec)\b|^git (?:status|push|pull|add|commit|log|diff|checkout|rebase|merge|clone|fetch|stash)\b/;
/** Code: a block's sign, an operator that prose has not, a line that ends as code does. */
const code =
  /```|&&|\|\||=>|->|::|;\s*$|[{(]\s*$|<\/?\w+>|^(?:const|let|var|function|import|def|class|return)\s/;

/**
 * Why a line is no sentence that belongs into long-term memory, such as a command or a table; undefined when it is one.
 */
export function noSentence(text: string): string | undefined {
  const length = [...text].length + (text.match(dense)?.length ?? 0);
  if (length < least) return "too short";
  if (length > most) return "too long";
  const marks = text.match(/[\p{L}\p{M}\s]/gu)?.length ?? 0;
  const isProse = marks >= [...text].length / 2 && (/\p{L}\s+\S*\p{L}/u.test(text) || dense.test(text));
  dense.lastIndex = 0;
  const isOther = [noBeginning, speaker, command, code].some((shape) => shape.test(text));
  return isProse && !isOther ? undefined : "no sentence";
}
