import { randomInt } from "node:crypto";
import { createAdminToken, createTokenVerifier } from "../../shared/peers/tokens.ts";
import type { Table } from "../../shared/world/world.ts";
import { type HttpHandler, json } from "../http/http-endpoint.ts";
import { parseRecord, stringField } from "../http/json.ts";

/** Letters and digits that do not look alike. Eight of them have 39 bits. */
const alphabet = "abcdefghjkmnpqrstuvwxyz23456789";

const validMs = 2 * 60_000;
const maxAttempts = 3;

/**
 * Answers `POST /admin` of a client that wants to administer this gateway. Without a `code` in the body, it shows a new code
 * in the gateway's terminal (202). With that code it returns a token with the scope admin (200). A code is valid once, for
 * two minutes and three attempts. The request needs a client's token, so a web page cannot send it.
 * @param show called with each new code
 * @param otherwise answers all other requests
 */
export function openAdminCodes(
  table: Table,
  show: (code: string) => void,
  otherwise: HttpHandler,
  now: () => number = Date.now,
): HttpHandler {
  const tokens = createTokenVerifier(table, now);
  let open: { code: string; until: number; attempts: number } | undefined;
  const isRight = (code: string): boolean => {
    if (open === undefined || now() >= open.until || open.attempts >= maxAttempts) return false;
    open.attempts += 1;
    return plain(code) === plain(open.code);
  };
  return async (request) => {
    if (request.method !== "POST" || request.path !== "/admin") return otherwise(request);
    const [, bearer = ""] = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? "") ?? [];
    const holder = await tokens.verify(bearer);
    if (holder === undefined) return json(401, { message: "wrong token" });
    if (!holder.scopes.includes("client") && !holder.scopes.includes("admin"))
      return json(403, { message: "only a client may ask for a code" });
    const code = stringField(parseRecord(request.body.toString()) ?? {}, "code");
    if (code === undefined) {
      open = { code: newCode(), until: now() + validMs, attempts: 0 };
      show(open.code);
      return json(202, { until: open.until });
    }
    if (!isRight(code)) return json(403, { message: "the code is wrong, used, or older than two minutes" });
    open = undefined;
    return json(200, await createAdminToken(table, now()));
  };
}

function newCode(): string {
  const four = () => Array.from({ length: 4 }, () => alphabet[randomInt(alphabet.length)]).join("");
  return `${four()}-${four()}`;
}

const plain = (code: string) => code.toLowerCase().replace(/[\s-]/g, "");
