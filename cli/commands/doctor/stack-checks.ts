import type { Account } from "../../../shared/aws/account-state.ts";
import { type Finding, finding } from "./finding.ts";

/** The bootstrap version that the templates of the CDK require. */
const neededBootstrap = 6;

/** Checks that the CDK can deploy to the account and region. */
export async function checkBootstrap(account: Account, number: string, region: string): Promise<Finding> {
  const version = await account.bootstrapVersion();
  if (version === undefined) {
    const { status = "" } = (await account.stack("CDKToolkit").catch(() => undefined)) ?? {};
    return /FAILED$|^ROLLBACK_COMPLETE$/.test(status)
      ? finding("bootstrapStack", { status, region })
      : finding("bootstrapMissing", { account: number, region });
  }
  if (version >= neededBootstrap) return finding("bootstrapOk", { version });
  return finding("bootstrapOld", { version, needed: neededBootstrap, account: number, region });
}

type Outcome =
  | "stackOk"
  | "stackAbsent"
  | "stackNotCreated"
  | "stackNotDeleted"
  | "stackNotUpdated"
  | "stackNotRestored"
  | "stackUnknown"
  | `stack-${"create" | "update" | "delete" | "rollback" | "import"}-complete`;

/** What each status of a stack means for a deployment. A waiter of the AWS command line: wait for the other operation. */
export const stackOutcomes: Readonly<Record<string, Outcome>> = {
  CREATE_COMPLETE: "stackOk",
  UPDATE_COMPLETE: "stackOk",
  UPDATE_ROLLBACK_COMPLETE: "stackOk",
  IMPORT_COMPLETE: "stackOk",
  IMPORT_ROLLBACK_COMPLETE: "stackOk",
  // A change set was made, but no stack.
  REVIEW_IN_PROGRESS: "stackAbsent",
  DELETE_COMPLETE: "stackAbsent",
  CREATE_IN_PROGRESS: "stack-create-complete",
  ROLLBACK_IN_PROGRESS: "stack-rollback-complete",
  UPDATE_IN_PROGRESS: "stack-update-complete",
  UPDATE_COMPLETE_CLEANUP_IN_PROGRESS: "stack-update-complete",
  UPDATE_ROLLBACK_IN_PROGRESS: "stack-rollback-complete",
  UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS: "stack-rollback-complete",
  DELETE_IN_PROGRESS: "stack-delete-complete",
  IMPORT_IN_PROGRESS: "stack-import-complete",
  IMPORT_ROLLBACK_IN_PROGRESS: "stack-import-complete",
  CREATE_FAILED: "stackNotCreated",
  ROLLBACK_COMPLETE: "stackNotCreated",
  ROLLBACK_FAILED: "stackNotCreated",
  DELETE_FAILED: "stackNotDeleted",
  UPDATE_FAILED: "stackNotUpdated",
  UPDATE_ROLLBACK_FAILED: "stackNotRestored",
  IMPORT_ROLLBACK_FAILED: "stackUnknown",
};

/** Checks that a deployment can change the stage's stack. */
export async function checkStack(account: Account, stage: string, region: string): Promise<Finding> {
  const stack = await account.stack(`gsv-${stage}`);
  if (stack === undefined) return finding("stackAbsent", { stage, region });
  const { status, reason } = stack;
  const outcome = stackOutcomes[status] ?? "stackUnknown";
  const values = { stage, region, status, reason: reason ? ` (${reason})` : "" };
  return outcome.startsWith("stack-")
    ? finding("stackBusy", { ...values, waiter: outcome })
    : finding(outcome as Exclude<Outcome, `stack-${string}`>, values);
}
