import { code } from "../../shared/protocol/errors.ts";
import { Failure } from "../app/failure.ts";
import type { Gateway } from "./gateway-client.ts";

/**
 * Makes a link to the gateway's page that signs one device in.
 * @throws Failure when the gateway has no page, or its address is not valid
 */
export async function createPageLink(
  { hello, request }: Pick<Gateway, "hello" | "request">,
  { name, short }: { name?: string; short: boolean },
) {
  const { page } = hello;
  if (page === undefined)
    throw new Failure(
      code.notFound,
      "this gateway has no page yet; update it with `gsv deploy` or `npm start`",
    );
  // The browser is started with it.
  if (!/^https?:\/\/[\w.:-]+$/.test(page))
    throw new Failure(code.badRequest, "the page's address is not valid");
  const created = await request("code.create", { ...(name === undefined ? {} : { name }), short });
  return { page, url: `${page}/#c=${encodeURIComponent(created.code)}`, ...created };
}
