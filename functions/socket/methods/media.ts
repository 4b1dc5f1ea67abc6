import { mediaPrefix } from "../../../shared/media/media-store.ts";
import { code, PeerError } from "../../../shared/protocol/errors.ts";
import type { MethodTable } from "../gateway.ts";
import { canonicalKey } from "./chat.ts";

/** How long the address of a file is valid, in seconds. */
const urlSeconds = 300;

export const mediaMethods: Pick<MethodTable, "media.url"> = {
  "media.url": {
    modes: ["client"],
    async handle(gateway, { sessionKey, r2Key }) {
      const prefix = mediaPrefix(await canonicalKey(gateway, sessionKey));
      // The name has no slash, so that the key cannot lead out of the session's files.
      const isOfSession = r2Key.startsWith(prefix) && /^[\w-]+\.\w+$/.test(r2Key.slice(prefix.length));
      const head = isOfSession ? await gateway.bucket.head(r2Key) : undefined;
      if (!head) throw new PeerError(code.notFound, "r2Key: no such file in this session");
      const url = await gateway.presigner.get(r2Key, urlSeconds);
      const mimeType = head.contentType ?? "application/octet-stream";
      return { url, mimeType, expiresAt: gateway.now() + urlSeconds * 1000 };
    },
  },
};
