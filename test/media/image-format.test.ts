import { describe, expect, it } from "vitest";
import { imageTypeOf, isShownSize, shownImageTypes } from "../../shared/media/image-format.ts";
import { imageBytes } from "../support/images.ts";

const hex = (number: number, bytes: number) => number.toString(16).padStart(2 * bytes, "0");
const reversed = (number: number, bytes: number) =>
  Buffer.from(hex(number, bytes), "hex").reverse().toString("hex");

/** Beginnings of images as encoders write them, with these sides. */
const written: Record<string, (width: number, height: number) => string> = {
  "lossy WebP": (width, height) =>
    `524946463c000000574542505650382030000000d001009d012a${reversed(width, 2)}${reversed(height, 2)}01402625`,
  "lossless WebP": (width, height) =>
    `524946461e000000574542505650384c110000002f${reversed(width - 1 + (height - 1) * 2 ** 14, 4)}0007`,
  "progressive JPEG behind EXIF and a comment that looks like a header": (width, height) =>
    `ffd8ffe1000645786966fffe000bffc000110800010001ffffc2001108${hex(height, 2)}${hex(width, 2)}03`,
};

const isShown = (bytes: Buffer) => isShownSize(bytes, imageTypeOf(bytes)!);

describe("an image is shown up to 8000 pixels a side", () => {
  const kinds = [
    ...shownImageTypes.map((type) => {
      const build = (width: number, height: number) => imageBytes(type, 64, [width, height]);
      return [type as string, build] as const;
    }),
    ...Object.entries(written).map(([name, build]) => {
      return [name, (width: number, height: number) => Buffer.from(build(width, height), "hex")] as const;
    }),
  ];

  it.each(kinds)("%s", (_kind, build) => {
    const sizes = [
      [3, 2],
      [8000, 8000],
      [8001, 5],
      [5, 8001],
    ] as const;
    expect(sizes.map(([width, height]) => isShown(build(width, height)))).toEqual([true, true, false, false]);
  });
});

it("an image whose bytes do not say its size is left to the provider", () => {
  for (const type of ["image/png", "image/webp"] as const)
    expect(isShown(imageBytes(type).subarray(0, 12))).toBe(true);
  const start = Buffer.from([0xff, 0xd8, 0xff, 0xe0]);
  expect(isShown(Buffer.concat([start, Buffer.alloc(100_000)]))).toBe(true);
  expect(isShown(Buffer.concat([start, Buffer.alloc(100_000, 0xff)]))).toBe(true);
  expect(isShown(Buffer.from("\x89PNG\r\n\x1a\nno header", "latin1"))).toBe(true);
});
