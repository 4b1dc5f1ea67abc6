import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundleFunction, bundleTarget } from "../../../infra/bundle.ts";
import { functionNames } from "../../../infra/permissions.ts";
import type { TemplateJson } from "../../infra/synthesis.ts";
import { isEndToEnd } from "./longest-first.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Folder of the functions' bundles, built from the sources as they are now. */
    bundles: string;
    /** The template of the stage `local` over these bundles. */
    template: TemplateJson;
  }
}

/**
 * Builds the bundles and synthesizes the template once for a run of the tests, in a folder that is removed at its end:
 * loading the CDK takes longer than most of the tests that ask for the functions' roles. Does nothing for a run without
 * end-to-end tests.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!project.vitest.state.getPaths().some(isEndToEnd)) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "gsv-bundles-"));
  await Promise.all(functionNames.map((name) => bundle(name, folder)));
  project.provide("bundles", folder);
  project.provide("template", await synthesize(folder));
  return () => rm(folder, { recursive: true, force: true });
}

async function bundle(name: (typeof functionNames)[number], folder: string): Promise<void> {
  const { entry } = bundleTarget(process.cwd(), name);
  await bundleFunction({
    entry,
    outDir: join(folder, name),
    metaFile: join(folder, "meta", `${name}.json`),
  });
}

async function synthesize(bundles: string): Promise<TemplateJson> {
  const [{ Template }, { createApp }] = await Promise.all([
    import("aws-cdk-lib/assertions"),
    import("../../../infra/create-app.ts"),
  ]);
  const { stack } = createApp(bundles, {
    context: { stage: "local" },
    outdir: join(bundles, "template"),
    builtinCloudFormationValidation: false,
  });
  return Template.fromStack(stack).toJSON() as TemplateJson;
}
