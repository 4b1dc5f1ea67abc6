import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { App } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { createApp } from "../../infra/app.ts";
import { functionNames } from "../../infra/permissions.ts";
import type { GsvStack } from "../../infra/stack.ts";
import { newFolder } from "../support/run/test-folders.ts";

/** The parts of a CloudFormation template that the tests read. */
export interface TemplateJson {
  Resources: Record<string, { Type: string; Properties: Record<string, unknown> } & Record<string, unknown>>;
  Outputs: Record<string, { Value: unknown }>;
}

/** Folder with empty bundles: the template does not depend on the functions' code. */
function placeholderBundles(): string {
  const bundles = newFolder();
  for (const name of functionNames) {
    mkdirSync(join(bundles, name), { recursive: true });
    writeFileSync(join(bundles, name, "handler.mjs"), "export const handler = async () => {};\n");
  }
  return bundles;
}

/**
 * The app of a stage over placeholder bundles.
 * @param context the settings, as `-c` sets them
 * @param options `validate`: whether synthesis runs CDK's built-in rules, which takes seconds; `bundles`: other bundles
 */
export function stageApp(
  context: Record<string, string> = {},
  { validate = false, bundles = placeholderBundles() } = {},
): { app: App; stack: GsvStack } {
  return createApp(bundles, { context, outdir: newFolder(), builtinCloudFormationValidation: validate });
}

/** By their settings. */
const templates = new Map<string, string>();

/** The template of a stage, `local` unless the context names another. Each stage is synthesized once. */
export function synthesizeTemplate(context: Record<string, string> = {}): TemplateJson {
  const settings = { stage: "local", ...context };
  const name = JSON.stringify(settings);
  const text = templates.get(name) ?? JSON.stringify(Template.fromStack(stageApp(settings).stack).toJSON());
  templates.set(name, text);
  return JSON.parse(text) as TemplateJson;
}

/** The same template for assertions. */
export function templateOf(context: Record<string, string> = {}): Template {
  return Template.fromJSON(synthesizeTemplate(context));
}
