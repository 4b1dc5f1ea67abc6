import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import type { Fetched, GuardedFetch } from "../../../shared/http/guarded-fetch.ts";
import { essenceOf } from "../../../shared/media/media-types.ts";
import { logError } from "../../../shared/runtime/log.ts";
import type { Bucket } from "../../../shared/world/world.ts";
import type { PageText } from "./page-text.ts";

/** Limits of a page: 4 MB, 20 seconds, and 200,000 characters of text. */
const maxBytes = 4 * 1024 * 1024;
const timeoutMs = 20_000;
const maxText = 200_000;

/** Max length of its title and of its address after redirects, in characters. */
const [maxTitle, maxAddress] = [300, 2000];

/** How long a page's text is reused. A lifecycle rule deletes it later. */
const maxAgeMs = 24 * 3_600_000;

/** A page's text. */
export interface Page {
  /** After redirects. */
  url: string;
  /** Empty when the page has none. */
  title: string;
  text: string;
  /** Epoch milliseconds. */
  fetchedAt: number;
}

/** The dependencies of reading a page. */
export interface Pages {
  /** Absent: the page is not kept, and a kept one is not used. */
  bucket?: Pick<Bucket, "get" | "put"> | undefined;
  guardedFetch: GuardedFetch;
  now: () => number;
}

/**
 * Reads a page of the web, or its text of the last 24 hours. An http address is fetched by https.
 * @param signal aborts the fetch
 * @returns the page, or why it cannot be read
 */
export async function readPage(
  pages: Pages,
  address: string,
  signal?: AbortSignal,
): Promise<Page | { error: string }> {
  const url = address.trim().replace(/^http:/i, "https:");
  const kept = await keptPage(pages, url);
  if (kept) return kept;
  const { guardedFetch, bucket, now } = pages;
  const fetched = await guardedFetch({
    ...{ url, maxBytes, timeoutMs },
    headers: { accept: "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1" },
    ...(signal ? { signal } : {}),
  });
  if (!fetched.ok) return { error: `The page was not read: ${fetched.reason}.` };
  if (fetched.url.length > maxAddress)
    return { error: "The page was not read: the address of the page is too long." };
  const type = essenceOf(fetched.contentType ?? "text/html");
  const decoded = await textOf(fetched, type, signal);
  if (decoded && "error" in decoded) return { error: `The page was not read: ${decoded.error}.` };
  if (!decoded)
    return { error: `The page was not read: ${nameOf(type)} is not text. A machine may be able to open it.` };
  const [title, text] = [bounded(decoded.title, maxTitle), bounded(decoded.text, maxText)];
  const page = { url: fetched.url, title, text, fetchedAt: now() };
  const body = gzipSync(JSON.stringify(page));
  await bucket?.put(keyOf(url), body, { contentType: "application/gzip" }).catch(unkept);
  return page;
}

/** The key of a page's text. The name tells nothing about the address. */
function keyOf(url: string): string {
  return `payloads/web/${createHash("sha256").update(url).digest("hex")}.json.gz`;
}

async function keptPage({ bucket, now }: Pages, url: string): Promise<Page | undefined> {
  try {
    const found = await bucket?.get(keyOf(url));
    if (!found) return undefined;
    const page = JSON.parse(gunzipSync(found.body).toString()) as Page;
    return now() - page.fetchedAt < maxAgeMs ? page : undefined;
  } catch (error) {
    unkept(error);
    return undefined;
  }
}

/** A page is read although its copy cannot be written or read. */
function unkept(error: unknown): void {
  logError("web.unkept", error);
}

/** @returns undefined for a type that is not text */
async function textOf(
  { body, contentType = "", url }: Extract<Fetched, { ok: true }>,
  type: string,
  signal: AbortSignal | undefined,
): Promise<PageText | { error: string } | undefined> {
  if (type === "application/pdf") {
    const { pdfText } = await import("./pdf-text.ts");
    return pdfText(body, maxText, signal);
  }
  if (/^(?:text\/html|application\/xhtml\+xml)$/.test(type)) {
    const { pageText } = await import("./page-text.ts");
    return pageText(decode(body, contentType), url);
  }
  const isText = /^text\/|[/+](?:json|xml|yaml|javascript)$/.test(type);
  return isText ? { title: "", text: decode(body, contentType) } : undefined;
}

/** Decodes text in the character encoding that the server or the page names, otherwise in UTF-8. */
function decode(body: Buffer, contentType: string): string {
  const beginning = body.subarray(0, 1024).toString("latin1");
  const [, named = "utf-8"] =
    /charset=["']?([\w.:-]+)/i.exec(contentType) ??
    /<meta[^>]{0,200}charset=["']?([\w.:-]+)/i.exec(beginning) ??
    [];
  try {
    return new TextDecoder(named).decode(body);
  } catch {
    return new TextDecoder().decode(body);
  }
}

/** Without control characters, each of which would be six characters of a result. */
const bounded = (text: string, max: number) =>
  text
    .slice(0, max)
    .replaceAll(/[^\P{Cc}\t\n]/gu, "")
    .toWellFormed();

/** A type as an error names it. The server may have put any words there. */
const nameOf = (type: string) => (/^[a-z]+\/[\w.+-]{1,40}$/.test(type) ? type : "its type");
