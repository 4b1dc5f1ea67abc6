import type { TableCall } from "../../local/items/table-call.ts";
import type { Path, Step } from "../../shared/world/expression.ts";
import { configurationKey } from "../../shared/world/stored-format.ts";
import type { World } from "../../shared/world/world.ts";
import { jobMutations } from "../conformance/jobs/job-mutations.ts";
import { mutations as ofEveryInterleaving, without } from "../conformance/mutations.ts";

type Mutation = (call: TableCall) => TableCall;

/** How the services would look to code without a part that the protocol needs. */
export const distortions: Record<string, (world: World) => World> = {
  "the version that a restore overwrites": (world) => {
    const { bucket } = world;
    const put: typeof bucket.put = (key, body, options) => {
      // Edits write text, restores the bytes of a commit.
      const isRestored = key.includes("/plans/") && typeof body !== "string";
      return bucket.put(key, body, isRestored ? { metadata: options?.metadata ?? {} } : options);
    };
    return { ...world, bucket: { ...bucket, put } };
  },
  "the newest owners": (world) => {
    const { table } = world;
    let cached: ReturnType<typeof table.get> | undefined;
    const get: typeof table.get = (key) => {
      if (key.pk !== configurationKey.pk) return table.get(key);
      cached ??= table.get(key);
      return cached;
    };
    return { ...world, table: { ...table, get } };
  },
};

const pathOf = (part: { path: Path }) => [part.path].flat().join(".");

const isRunId = without((part) => [part.path].flat().join(".") === "run.runId");

/** A step as after an upgrade, when the previous release may not return. */
const sharded = (step: Step): Step =>
  step.path === "duePk" && "value" in step ? { ...step, value: "DUE#7" } : step;

/** Only writes that contain a step for a path. */
const where =
  (path: string, mutation: Mutation): Mutation =>
  (call) => {
    const isMeant = call.op === "update" && call.steps.some((step) => [step.path].flat().join(".") === path);
    return isMeant ? mutation(call) : call;
  };

/**
 * Only the exhaustive check finds these: a paused writer notices before it writes a message, a stopped run that waits for
 * its node ends when the node answers, the check's bucket is part of its table, only the check looks for archived messages
 * left by a crash, and no schedule has requests to its owner.
 */
const ofTheCheck = new Set([
  "the writer of a message",
  "no stop at the waiting release",
  "the archive of a reset",
  "the mark of what is to be deleted",
  "the first answer to a request",
  "no stop at an answer",
  "the mark of an answer",
  "no answer at the waiting release",
]);

/** Conditions that the protocol needs, each to be removed once. */
export const mutations: Record<string, Mutation> = {
  ...Object.fromEntries(Object.entries(ofEveryInterleaving).filter(([name]) => !ofTheCheck.has(name))),
  ...jobMutations,
  "a result that is still awaited": where(
    "run.pendingCount",
    without((part) => [part.path].flat().join(".").startsWith("run.pending.")),
  ),
  "the epoch of a tick": (call) =>
    call.op === "update" && call.key.pk === "HEARTBEAT" ? { ...call, condition: undefined } : call,
  "the tombstone of a memory": (call) =>
    call.op === "put" && call.item.pk.startsWith("FORGOTTEN#")
      ? { ...call, item: { ...call.item, pk: "ELSEWHERE" } }
      : call,
  "the lease of a sweep of memories": (call) =>
    call.op === "update" && call.key.pk.startsWith("DREAM#") ? { ...call, condition: undefined } : call,
  "the step of a transfer": (call) =>
    call.op === "update" && call.key.pk === "TRANSFER" ? { ...call, condition: undefined } : call,
  "the runs that a message may start": without(({ path }) => path === "count"),
  "the partition in which the previous release sweeps": (call) =>
    call.op === "update" ? { ...call, steps: call.steps.map(sharded) } : call,
  "a session that does not exist yet": (call) =>
    call.op === "put" && call.item.sk === "META" ? { ...call, condition: undefined } : call,
  "the newest edit of a message": (call) =>
    call.op === "update"
      ? { ...call, steps: call.steps.filter((step) => !pathOf(step).endsWith(":edited")) }
      : call,
  "the entry that an edit replaces": where(
    "inboxBytes",
    without((part) => /^inbox\.\d+\.(id|correction)/.test(pathOf(part))),
  ),
  "the entries that a message moves before": (call) =>
    call.op === "update" && call.steps.every((step) => pathOf(step).startsWith("inbox."))
      ? { ...call, condition: undefined }
      : call,
  "the run that a stop is for": where("duePk", where("stop", isRunId)),
};
