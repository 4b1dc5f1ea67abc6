import { download, type PlatformCall, type PlatformReply, type SharedFile } from "../platform-server.ts";

/** Files of a workspace, by their ids. */
export type SlackFiles = Map<string, SharedFile>;

const downloadPath = /^\/files-pri\/T061EG9R6-(F[A-Z0-9]+)\/[^/]+$/;

/** A request without the token is redirected to a login page. */
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

/** A file that the bot is uploading. It is shared once it is in a channel. */
export interface SlackUpload {
  id: string;
  name: string;
  length: number;
  file?: File;
  channel?: string;
  thread_ts?: string;
}

/** Uploading in three calls (https://docs.slack.dev/messaging/working-with-files). Undefined for any other call. */
export function answerUpload(
  call: PlatformCall,
  uploads: SlackUpload[],
  botToken: string,
): PlatformReply | undefined {
  const [, address] = /^\/upload\/v1\/(\w+)$/.exec(call.path) ?? [];
  if (address !== undefined) return receiveBytes(call, uploads, address);
  const method = { "/api/files.getUploadURLExternal": begin, "/api/files.completeUploadExternal": complete }[
    call.path
  ];
  if (!method) return undefined;
  if (call.headers.authorization !== `Bearer ${botToken}`) return fault("invalid_auth");
  return method(call, uploads);
}

function begin({ query, headers }: PlatformCall, uploads: SlackUpload[]): PlatformReply {
  const length = Number(query.length);
  if (!query.filename || !Number.isInteger(length) || length <= 0) return fault("invalid_arguments");
  const id = `F0UP${uploads.length + 1}`;
  uploads.push({ id, name: query.filename, length });
  const upload_url = `http://${headers.host}/upload/v1/${id}`;
  return { status: 200, body: { ok: true, upload_url, file_id: id } };
}

function receiveBytes({ method, form }: PlatformCall, uploads: SlackUpload[], id: string): PlatformReply {
  const upload = uploads.find((one) => one.id === id);
  const [file] = [...(form?.values() ?? [])];
  if (method !== "POST" || !upload || !(file instanceof File)) return { status: 404, body: "" };
  if (file.size !== upload.length) return { status: 400, body: "" };
  upload.file = file;
  return { status: 200, body: Buffer.from(`OK - ${file.size}`) };
}

function complete({ body = {} }: PlatformCall, uploads: SlackUpload[]): PlatformReply {
  const [named] = (body.files ?? []) as { id?: string; title?: string }[];
  const upload = uploads.find((one) => one.id === named?.id);
  if (!upload?.file || upload.channel !== undefined) return fault("file_not_found");
  if (typeof body.channel_id !== "string" || !/^[CDG][A-Z0-9]{6,}$/.test(body.channel_id))
    return fault("channel_not_found");
  upload.channel = body.channel_id;
  if (body.thread_ts !== undefined) upload.thread_ts = String(body.thread_ts);
  return { status: 200, body: { ok: true, files: [{ id: upload.id, title: named?.title }] } };
}

function fault(error: string): PlatformReply {
  return { status: 200, body: { ok: false, error } };
}

/** A file object (https://docs.slack.dev/reference/objects/file-object) as part of an event. */
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
