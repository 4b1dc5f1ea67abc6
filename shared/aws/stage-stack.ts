import {
  CloudFormationClient,
  CloudFormationServiceException,
  DeleteStackCommand,
  DescribeStacksCommand,
  paginateListStackResources,
  type Stack,
  waitUntilStackDeleteComplete,
} from "@aws-sdk/client-cloudformation";
import { clientSettings, stageLimits } from "./call-limits.ts";

/** A resource of a stack. */
export interface StackResource {
  /** As CloudFormation names it, such as `AWS::Lambda::Function`. */
  type: string;
  /** Its name, id or ARN, depending on the type; undefined before it is created. */
  name: string | undefined;
  /** Such as `CREATE_COMPLETE`. */
  status: string;
  /** Why it is in this status, after a failure. */
  reason: string | undefined;
}

/** The stack of a stage. */
export interface StageStack {
  /** Its ARN. */
  id: string;
  /** Such as `UPDATE_COMPLETE` or `DELETE_FAILED`. */
  status: string;
  reason: string | undefined;
  outputs: Map<string, string>;
  /** The resources that it has now. */
  resources: StackResource[];
}

/** The stack of a stage, in whatever status it is; undefined when there is none. */
export async function findStack(stage: string): Promise<StageStack | undefined> {
  const client = openClient();
  const stack = await describeStack(`gsv-${stage}`);
  if (stack?.StackId === undefined || stack.StackStatus === "DELETE_COMPLETE") return undefined;
  const resources: StackResource[] = [];
  for await (const page of paginateListStackResources({ client }, { StackName: stack.StackId }))
    for (const one of page.StackResourceSummaries ?? [])
      if (one.ResourceStatus !== "DELETE_COMPLETE")
        resources.push({
          type: one.ResourceType ?? "",
          name: one.PhysicalResourceId,
          status: one.ResourceStatus ?? "",
          reason: one.ResourceStatusReason,
        });
  const outputs = (stack.Outputs ?? []).map((one) => [one.OutputKey ?? "", one.OutputValue ?? ""] as const);
  return {
    id: stack.StackId,
    status: stack.StackStatus ?? "",
    reason: stack.StackStatusReason,
    outputs: new Map(outputs),
    resources,
  };
}

/**
 * Deletes a stack, and waits until it is gone. Safe to repeat: a deletion that runs is waited for.
 * @throws Error that names the resources that could not be deleted, with CloudFormation's reasons
 */
export async function deleteStack(stage: string, { id, status }: StageStack): Promise<void> {
  const client = openClient();
  if (status !== "DELETE_IN_PROGRESS") await client.send(new DeleteStackCommand({ StackName: id }));
  try {
    await waitUntilStackDeleteComplete(
      { client, minDelay: 5, maxDelay: 15, maxWaitTime: maxDeletionSeconds },
      { StackName: id },
    );
  } catch (error) {
    const left = await findStack(stage);
    if (left === undefined) return;
    if (left.status === "DELETE_IN_PROGRESS") throw error;
    const failed = left.resources.filter((one) => one.status === "DELETE_FAILED");
    const reasons = failed.map(({ type, name, reason }) => `${type} ${name}: ${reason}`);
    throw new Error(reasons.join("; ") || left.reason || `the stack's status is ${left.status}`);
  }
}

/** Longer than any deletion of a gateway's stack. */
const maxDeletionSeconds = 3600;

/** An AWS region, and an address that replaces that of the service. Default: as the SDK reads them. */
export interface StackPlace {
  region?: string;
  endpoint?: string;
}

function openClient(place: StackPlace = {}): CloudFormationClient {
  return new CloudFormationClient({ ...clientSettings(stageLimits), ...place });
}

/**
 * What CloudFormation tells about a stack; undefined when there is none.
 * @param StackName its name or ARN
 */
export async function describeStack(StackName: string, place?: StackPlace): Promise<Stack | undefined> {
  try {
    return (await openClient(place).send(new DescribeStacksCommand({ StackName }))).Stacks?.[0];
  } catch (error) {
    const isAbsent =
      error instanceof CloudFormationServiceException &&
      error.name === "ValidationError" &&
      error.message.includes("does not exist");
    if (isAbsent) return undefined;
    throw error;
  }
}
