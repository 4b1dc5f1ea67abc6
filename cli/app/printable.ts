// biome-ignore-start lint/suspicious/noControlCharactersInRegex: these expressions remove control characters
/**
 * Terminal escape sequences: CSI with its parameters, OSC with its text up to its terminator on the same line, and
 * short escapes. Of an unterminated OSC, only the introducer is removed, so that it cannot hide the text after it.
 */
const escapes =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c\u009d\n\r]*(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]*[0-~]/g;
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\p{Bidi_Control}]/gu;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: these expressions remove control characters

/**
 * Makes untrusted text safe to show on a terminal. Removes escape sequences, control characters (C0 and C1) and
 * characters that change the direction of writing. Line breaks and tabs remain; a carriage return, which would
 * overwrite the line, becomes a line break.
 */
export function printable(text: string): string {
  return text.replace(escapes, "").replace(/\r\n?/g, "\n").replace(controls, "");
}
