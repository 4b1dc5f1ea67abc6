import { download, type PlatformCall, type PlatformReply, type SharedFile } from "./platform-server.ts";

/** Files of a workspace, by their ids. */
export type SlackFiles = Map<string, SharedFile>;

const downloadPath = /^\/files-pri\/T061EG9R6-(F[A-Z0-9]+)\/[^/]+$/;

/** Whoever does not bear the token is sent to a page where one can log in. */
const loginPage: PlatformReply = { status: 302, headers: { location: "/?redir=%2Ffiles-pri" } };

/** The download of a file. Undefined for any other call. */
export function answerDownload(
  call: PlatformCall,
  files: SlackFiles,
  botToken: string,
): PlatformReply | undefined {
  if (call.method !== "GET") return undefined;
  if (call.path === "/")
    return { status: 200, body: Buffer.from("<!DOCTYPE html>"), headers: { "content-type": "text/html" } };
  const [, id] = downloadPath.exec(call.path) ?? [];
  if (id === undefined) return undefined;
  if (call.headers.authorization !== `Bearer ${botToken}`) return loginPage;
  const file = files.get(id);
  return file ? download(file) : { status: 404, body: Buffer.from("") };
}

/** A file object (https://docs.slack.dev/reference/objects/file-object), as an event has it. */
export function slackFile(id: string, { name, type, bytes, voice }: SharedFile, origin: string) {
  return {
    id,
    created: 1_780_000_000,
    name,
    title: name,
    mimetype: type,
    mode: "hosted",
    is_external: false,
    size: bytes.length,
    url_private: `${origin}/files-pri/T061EG9R6-${id}/${encodeURIComponent(name)}`,
    ...(voice ? { subtype: "slack_audio", duration_ms: 3000, aac: "https://files.slack.com/x.mp4" } : {}),
  };
}
