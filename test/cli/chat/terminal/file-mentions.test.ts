import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { readMentions } from "../../../../cli/chat/terminal/file-mentions.ts";
import { imageBytes } from "../../../support/images.ts";
import { newFolder } from "../../../support/run/test-folders.ts";

let folder: string;
beforeAll(() => {
  folder = newFolder();
  mkdirSync(join(folder, "sub dir"));
  writeFileSync(join(folder, "notes.md"), "text");
  writeFileSync(join(folder, "photo.png"), imageBytes());
  writeFileSync(join(folder, "not-an-image.png"), "text");
  writeFileSync(join(folder, "sub dir", "paper.PDF"), "%PDF-");
  writeFileSync(join(folder, "huge.png"), imageBytes());
  truncateSync(join(folder, "huge.png"), 26 * 1024 * 1024);
});
const read = async (message: string) => {
  const { message: sent, files } = await readMentions(message, folder, folder);
  return [sent, files.map(({ type, filename, mimeType }) => `${type} ${filename} ${mimeType}`)];
};

describe("an @file in a message", () => {
  it("attaches an image, detected by its bytes, and a document, detected by its name", async () => {
    expect(await read('compare @photo.png with @"sub dir/paper.PDF"')).toEqual([
      'compare @photo.png with @"sub dir/paper.PDF"',
      ["image photo.png image/png", "document paper.PDF application/pdf"],
    ]);
  });

  it("becomes the full path of any other file or folder", async () => {
    expect(await read('@notes.md, (not @not-an-image.png) or @~/notes.md? And @"sub dir".')).toEqual([
      `${folder}/notes.md, (not ${folder}/not-an-image.png) or ${folder}/notes.md? And "${folder}/sub dir".`,
      [],
    ]);
  });

  it("remains a word when it names no file, or is inside a word", async () => {
    const message = "ask @alice or bob@notes.md about @ and @missing.md";
    expect(await read(message)).toEqual([message, []]);
  });

  it("is refused above 25 MB, by its name", async () => {
    await expect(read("see @huge.png")).rejects.toThrow(
      "huge.png has 26 MB; the limit for attachments is 25 MB",
    );
  });
});
