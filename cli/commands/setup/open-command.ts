import { renderUnicodeCompact } from "uqr";
import { openInBrowser } from "../../app/browser.ts";
import { moment } from "../../app/columns.ts";
import { text } from "../../app/options.ts";
import type { Action } from "../../app/program.ts";
import { createPageLink } from "../../gateway/page-link.ts";

/** Opens the gateway's page with a code, or shows address and code for another device. */
export const openPage: Action = async (context, { options }) => {
  const isPhone = options.phone === true;
  const name = text(options.name);
  const result = await createPageLink(await context.gateway(false), { name, short: isPhone });
  const { page, url } = result;
  const until = `The code works once, until ${moment(result.expiresAt)}.`;
  if (isPhone) {
    // Light modules are drawn, so that it is dark on a dark screen.
    const picture = renderUnicodeCompact(url, { border: 2 });
    context.printExactly(
      result,
      `${picture}\n\nScan this, or open ${page} and type ${result.short}\n${until}`,
    );
    if (/^https?:\/\/(?:127\.|localhost)/.test(page))
      context.note(
        "gsv: a phone cannot reach this machine's own address; deploy the gateway, or use a tunnel",
      );
    return;
  }
  const isOpened = !context.json && (await openInBrowser(context.terminal, url));
  context.printExactly(result, isOpened ? `opened ${page}` : `${url}\n${until}`);
};
