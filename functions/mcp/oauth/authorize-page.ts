import type { HttpAnswer } from "../../../shared/http/http-answer.ts";

/** Nothing is loaded, no script runs, and no other page may show this one in a frame. */
const headers = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

const style =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:36em;margin:4em auto;padding:0 1em}code{background:#8883;padding:.2em .4em}";

function page(statusCode: number, body: string, more = ""): HttpAnswer {
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width">${more}<title>gsv</title><style>${style}</style>`;
  return {
    statusCode,
    headers,
    body: `<!doctype html><html lang="en"><head>${head}</head><body>${body}</body></html>`,
  };
}

/** Asks the owner to approve in a terminal, and looks every three seconds whether that has happened. */
export function waitPage(
  program: { name: string; redirectUri: string },
  code: string,
  next: string,
): HttpAnswer {
  const target = new URL(program.redirectUri);
  const where = target.host === "" ? target.protocol : target.host;
  const body =
    `<h1>${escaped(program.name)} asks to use your agent</h1><p>It calls itself so; its answer goes to <b>${escaped(where)}</b>.</p>` +
    `<p>If you have just begun this in that program, run in a terminal:</p><p><code>gsv mcp approve ${escaped(code)}</code></p>` +
    "<p>This page goes on by itself. The code is valid for ten minutes.</p>";
  return page(200, body, `<meta http-equiv="refresh" content="3;url=${escaped(next)}">`);
}

export function faultPage(message: string): HttpAnswer {
  return page(400, `<h1>This request cannot be approved</h1><p>${escaped(message)}</p>`);
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
}
