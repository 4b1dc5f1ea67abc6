import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { App, type AppProps } from "aws-cdk-lib";
import featureFlags from "aws-cdk-lib/recommended-feature-flags.json" with { type: "json" };
import { bundleFunctions } from "./bundle.ts";
import { GsvStack } from "./stack.ts";
import { readSettings } from "./stage-settings.ts";

/**
 * Creates the CDK app with the stack `gsv-{stage}`. CDK's recommended feature flags are set here and not in
 * cdk.json, so that tests and deployments get the same template.
 * @param bundles folder of the built functions
 * @throws Error when a setting is wrong or a bundle is missing
 */
export function createApp(bundles: string, props: AppProps = {}): { app: App; stack: GsvStack } {
  const app = new App({
    analyticsReporting: false,
    ...props,
    context: { ...featureFlags, ...props.context },
  });
  const settings = readSettings((key) => app.node.tryGetContext(key));
  const stack = new GsvStack(app, `gsv-${settings.stage}`, {
    settings,
    bundles,
    description: `GSV, a personal AI agent (stage ${settings.stage})`,
  });
  return { app, stack };
}

const root = fileURLToPath(new URL("..", import.meta.url));

try {
  // Every CDK command runs this file first, even `bootstrap` and `destroy`. Bundling here avoids outdated bundles.
  await bundleFunctions(root, "silent");
  createApp(join(root, "dist", "functions")).app.synth();
} catch (error) {
  // The message is enough: CDK would print a long stack trace before it.
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
