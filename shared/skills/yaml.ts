import { parseDocument } from "yaml";

/** An unindented line `key: text` whose unquoted text contains another `: `, which YAML refuses. */
const plainWithColon = /^([\w-]+):[ \t]+([^\s"'|>{[&*!#%@`].*:[ \t].*)$/gm;

/**
 * Parses YAML, which includes JSON; trailing commas are allowed. After a parse error it tries again with
 * unquoted texts such as `description: Use when: asked` quoted.
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
    // An alias without an anchor, or aliases that expand excessively.
    throw new SyntaxError((error as Error).message);
  }
}
