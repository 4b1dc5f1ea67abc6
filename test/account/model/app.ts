import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { App, type AppProps, CfnOutput, Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import { Architecture, Code, FunctionUrlAuthType, Function as Lambda, Runtime } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { bundleFunction } from "../../../infra/bundle.ts";

/**
 * The CDK app with the scripted model's stack, `gsv-{stage}-model`, whose output `ModelUrl` is its address. The context has
 * its `stage` and the `modelKey` that callers need.
 */
export async function createModelApp(props: AppProps = {}): Promise<{ app: App; stack: Stack }> {
  const folder = mkdtempSync(join(tmpdir(), "gsv-model-"));
  const entry = fileURLToPath(new URL("./handler.ts", import.meta.url));
  const outDir = join(folder, "model");
  await bundleFunction({ entry, outDir, metaFile: join(folder, "meta.json") });
  const app = new App({ analyticsReporting: false, ...props });
  const stage = String(app.node.getContext("stage"));
  const stack = new Stack(app, `gsv-${stage}-model`, {
    description: "The scripted model of npm run account",
  });
  const lambda = new Lambda(stack, "Model", {
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    code: Code.fromAsset(outDir),
    handler: "handler.handler",
    memorySize: 256,
    timeout: Duration.seconds(20),
    environment: { MODEL_KEY: String(app.node.getContext("modelKey")) },
    // Lambda's own log group would remain.
    logGroup: new LogGroup(stack, "Log", { removalPolicy: RemovalPolicy.DESTROY }),
  });
  const { url } = lambda.addFunctionUrl({ authType: FunctionUrlAuthType.NONE });
  new CfnOutput(stack, "ModelUrl", { value: url });
  return { app, stack };
}
