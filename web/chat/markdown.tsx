import { lexer, type Token, type Tokens } from "marked";
import type { ComponentChildren, VNode } from "preact";
import { memoized } from "../parts/memoized.tsx";
import { CodeBlock } from "./code-block.tsx";

/**
 * Markdown as nodes. Raw HTML is shown as text, images are links, and only links to web and mail addresses work: nothing that
 * a model wrote is loaded or executed.
 */
export function markdown(text: string): VNode {
  return <>{lexer(text).filter(isDrawn).map(block)}</>;
}

/** Whether a block has an element: Preact searches for the place of one that has none, at each frame. */
export function isDrawn({ type }: Token): boolean {
  return type !== "space" && type !== "def";
}

/** A block that is drawn once for each token. Preact compares the elements of a growing text again, but not in components. */
export const Block = memoized<{ token: Token }>(({ token }) => block(token));

function block(token: Token): VNode {
  switch (token.type) {
    case "heading": {
      const { depth, tokens } = token as Tokens.Heading;
      // The page has a first heading of its own. Most answers begin with the second level: none may be left out before it.
      const Heading = `h${Math.max(2, depth)}` as "h3";
      return <Heading dir="auto">{inlines(tokens)}</Heading>;
    }
    case "paragraph":
      return <p dir="auto">{inlines((token as Tokens.Paragraph).tokens)}</p>;
    case "code": {
      const { text, lang } = token as Tokens.Code;
      return <CodeBlock text={text} language={lang?.split(/\s/)[0] ?? ""} />;
    }
    case "blockquote":
      return <blockquote dir="auto">{(token as Tokens.Blockquote).tokens.map(block)}</blockquote>;
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    case "hr":
      return <hr />;
    case "html":
      return <p dir="auto">{token.raw.trimEnd()}</p>;
    default: {
      const { tokens, raw } = token as Tokens.Text;
      return <>{tokens ? inlines(tokens) : decoded(raw)}</>;
    }
  }
}

function list({ ordered, start, items }: Tokens.List): VNode {
  const children = items.map((item) => (
    <li dir="auto" class={item.task ? "task" : undefined}>
      {item.task && <input type="checkbox" checked={item.checked === true} disabled aria-label="done" />}
      {item.tokens.filter(({ type }) => type !== "checkbox").map(block)}
    </li>
  ));
  return ordered ? <ol start={Number(start) || 1}>{children}</ol> : <ul>{children}</ul>;
}

function table({ header, rows, align }: Tokens.Table): VNode {
  const side = (index: number) => (align[index] ? `align-${align[index]}` : undefined);
  return (
    <div class="table" role="region" aria-label="table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th class={side(index)}>{inlines(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell, index) => (
                <td class={side(index)}>{inlines(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inlines(tokens: readonly Token[] = []): ComponentChildren {
  return tokens.map(inline);
}

function inline(token: Token): ComponentChildren {
  switch (token.type) {
    case "strong":
      return <strong>{inlines(token.tokens)}</strong>;
    case "em":
      return <em>{inlines(token.tokens)}</em>;
    case "del":
      return <del>{inlines(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return link(token.href, inlines(token.tokens));
    case "image":
      return link(token.href, token.text === "" ? "image" : `image: ${token.text}`);
    case "html":
      return token.raw;
    case "escape":
      return token.text;
    default:
      return "tokens" in token && token.tokens ? inlines(token.tokens) : decoded(token.raw);
  }
}

const schemes = ["https:", "http:", "mailto:"];

/** A link, or its text alone when the address is not one of the web or of mail. */
function link(href: string, children: ComponentChildren): ComponentChildren {
  const url = URL.canParse(href) ? new URL(href) : undefined;
  if (!url || !schemes.includes(url.protocol)) return children;
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer" title={url.href}>
      {children}
    </a>
  );
}

const entities: Readonly<Record<string, string>> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" },
};

function decoded(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (whole, name: string) => entities[name] ?? whole);
}
