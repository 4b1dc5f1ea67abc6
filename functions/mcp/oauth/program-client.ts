import * as v from "valibot";
import type { GuardedFetch } from "../../../shared/http/guarded-fetch.ts";
import { isRedirectAddress } from "../../../shared/http/redirect-address.ts";

/** A program that asks for access. It is trusted with nothing: the owner sees its name and where its code goes. */
export interface ProgramClient {
  clientId: string;
  name: string;
  redirectUris: string[];
}

const registeredMark = "gsvc_";
const maxRegistered = 3000;

/** Limits of the download of a client's metadata document. */
const download = { maxBytes: 64 * 1024, timeoutMs: 5000 };

const redirectUri = v.pipe(
  v.string(),
  v.maxLength(500),
  v.check(isRedirectAddress, "expected https, http on this machine, or a program's own scheme"),
);
const clientName = v.optional(v.pipe(v.string(), v.maxLength(100)));
const registration = v.object({
  redirect_uris: v.pipe(v.array(redirectUri), v.minLength(1), v.maxLength(10)),
  client_name: clientName,
});
const metadataDocument = v.object({ ...registration.entries, client_id: v.string() });

/**
 * Registers a client (RFC 7591). Nothing is stored: its id contains what it has registered, and anybody may register.
 * @returns the fault of an invalid registration
 */
export function registerClient(body: unknown): ProgramClient | { fault: string } {
  const result = v.safeParse(registration, body, { abortEarly: true });
  if (!result.success)
    return { fault: `${v.getDotPath(result.issues[0]) ?? "body"}: ${result.issues[0].message}` };
  const { redirect_uris: redirectUris, client_name: name = "a program" } = result.output;
  const clientId = registeredMark + Buffer.from(JSON.stringify([name, redirectUris])).toString("base64url");
  if (clientId.length > maxRegistered) return { fault: "redirect_uris: too long" };
  return { clientId, name, redirectUris };
}

/**
 * Finds a client: one that has registered, or one whose id is the https address of its metadata document.
 * @returns the fault of an id that is neither
 */
export async function findClient(
  fetch: GuardedFetch,
  clientId: string,
): Promise<ProgramClient | { fault: string }> {
  if (clientId.startsWith(registeredMark)) return readRegistered(clientId);
  if (!clientId.startsWith("https://") || clientId.length > 500)
    return { fault: "client_id: expected a registered client, or the https address of a metadata document" };
  const fetched = await fetch({ url: clientId, ...download });
  if (!fetched.ok) return { fault: `client_id: its document cannot be read: ${fetched.reason}` };
  const result = v.safeParse(metadataDocument, parse(fetched.body.toString("utf8")));
  if (!result.success || result.output.client_id !== clientId)
    return { fault: "client_id: its document is not the metadata of this client" };
  const { redirect_uris: redirectUris, client_name: name = new URL(clientId).hostname } = result.output;
  return { clientId, name, redirectUris };
}

function readRegistered(clientId: string): ProgramClient | { fault: string } {
  const value = parse(Buffer.from(clientId.slice(registeredMark.length), "base64url").toString("utf8"));
  const [client_name, redirect_uris] = Array.isArray(value) ? value : [];
  const client = registerClient({ client_name, redirect_uris });
  return "fault" in client || client.clientId !== clientId
    ? { fault: "client_id: no client has registered it" }
    : client;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
