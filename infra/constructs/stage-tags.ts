import { Tags } from "aws-cdk-lib";
import type { Construct } from "constructs";

/** Tags what belongs to a stage. `shared/aws/stage-data.ts` finds its data by these tags. */
export function tagStage(scope: Construct, stage: string): void {
  Tags.of(scope).add("application", "gsv");
  Tags.of(scope).add("stage", stage);
}
