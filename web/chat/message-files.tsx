import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ShownFile } from "../state/entries.ts";

/** Returns the bytes of a stored object; undefined when it cannot be read. */
export type FileSource = (r2Key: string) => Promise<Blob | undefined>;

/** Formats that are shown. Others, such as SVG, may contain scripts and are only named. */
const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** The files of a message: pictures as pictures, others by name. */
export function MessageFiles({ files, source }: { files: readonly ShownFile[]; source: FileSource }) {
  if (files.length === 0) return null;
  return (
    <ul class="files">
      {files.map((file) => (
        <li>
          {pictures.includes(file.mimeType) ? (
            <Picture file={file} source={source} />
          ) : (
            <span class="chip">{file.name}</span>
          )}
        </li>
      ))}
    </ul>
  );
}

function Picture({ file, source }: { file: ShownFile; source: FileSource }) {
  const url = useSignal("");
  const { blob, r2Key, data, mimeType, name } = file;
  useEffect(() => {
    let made = "";
    let isGone = false;
    void bytesOf(file, source).then((bytes) => {
      if (!bytes || isGone) return;
      made = URL.createObjectURL(new Blob([bytes], { type: mimeType }));
      url.value = made;
    });
    return () => {
      isGone = true;
      URL.revokeObjectURL(made);
    };
  }, [blob, r2Key, data]);
  return url.value === "" ? <span class="chip">{name}</span> : <img src={url.value} alt={name} />;
}

async function bytesOf({ blob, data, r2Key }: ShownFile, source: FileSource): Promise<BlobPart | undefined> {
  if (blob) return blob;
  if (data) return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  return r2Key === undefined ? undefined : source(r2Key);
}
