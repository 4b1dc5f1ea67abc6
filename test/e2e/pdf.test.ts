import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { openBuild } from "../../cli/launch/open-build.mjs";
import type { pdfText } from "../../functions/agent/web/pdf-text.ts";
import { helloPdf } from "../agent/web/hostile/pdf-files.ts";

/** The reader starts its own module as a program, so it depends on what the bundler makes of it. */
it.each([
  ["deployed agent", async () => join(inject("bundles"), "agent")],
  ["program of a checkout", () => openBuild(process.cwd())],
])("the bundle of the %s reads a PDF", async (_, open) => {
  const chunks = join(await open(), "chunks");
  const file = readdirSync(chunks).find((name) => /^pdf-text-.*\.mjs$/.test(name)) ?? "";
  const bundle: { pdfText: typeof pdfText } = await import(join(chunks, file));
  expect(await bundle.pdfText(helloPdf(), 1000)).toEqual({ title: "", text: "Hello from a PDF" });
});
