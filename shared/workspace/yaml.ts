import { parseDocument } from "yaml";

/** A line `key: text` at the margin whose text is plain and holds another `: `, which YAML refuses. */
const plainWithColon = /^([\w-]+):[ \t]+([^\s"'|>{[&*!#%@`].*:[ \t].*)$/gm;

/**
 * Reads YAML, and so JSON, with trailing commas. People write `description: Use when: asked`: what is no YAML
 * is read once more with such lines as text.
 * @throws SyntaxError that says what is wrong and where
 */
export function parseYaml(text: string): unknown {
  try {
    return read(text);
  } catch (error) {
    const quoted = text.replace(plainWithColon, (_, key, value) => `${key}: ${JSON.stringify(value)}`);
    if (quoted === text) throw error;
    return read(quoted);
  }
}

function read(text: string): unknown {
  const document = parseDocument(text, { logLevel: "silent", uniqueKeys: false });
  const [fault] = document.errors;
  if (fault) throw new SyntaxError(fault.message.split(":\n")[0]);
  try {
    return document.toJS();
  } catch (error) {
    // An alias without its anchor, or aliases that would grow into a bomb.
    throw new SyntaxError((error as Error).message);
  }
}
