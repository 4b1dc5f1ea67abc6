import { failureOf } from "../../app/failure.ts";
import { type Finding, finding } from "./finding.ts";

/**
 * Runs a check. A refused or failed call becomes a warning, because the deployment may need no such permission.
 * @param action the permission that the check needs
 * @param subject what it checks
 */
export async function checked(
  action: string,
  subject: string,
  find: () => Promise<Finding | Finding[]>,
): Promise<Finding[]> {
  try {
    return [await find()].flat();
  } catch (error) {
    if (/AccessDenied|NotAuthorized|UnauthorizedOperation/.test((error as Error).name))
      return [finding("permissionMissing", { action, subject })];
    return [finding("checkFailed", { subject, reason: reasonOf(error) })];
  }
}

/** Why a request failed. `fetch` has the reason in the error's cause. */
export function reasonOf(error: unknown): string {
  return failureOf((error as Error).cause ?? error).message;
}
