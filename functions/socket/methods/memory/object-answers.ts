import { createTwoFilesPatch } from "diff";
import { staticRef } from "../../../../shared/objects/metadata.ts";
import {
  type ObjectEntry,
  objectsOf,
  versionsOf,
  wantedVersion,
} from "../../../../shared/objects/object-entries.ts";
import { code, PeerError } from "../../../../shared/protocol/errors.ts";
import type { Params } from "../../../../shared/protocol/methods.ts";
import type { ListedObject, ListedVersion, MemoryObject } from "../../../../shared/protocol/objects.ts";
import type { Results } from "../../../../shared/protocol/results.ts";
import type { Gateway } from "../../gateway.ts";
import { openObject, openObjects } from "./open-objects.ts";

export async function listObjects(
  gateway: Gateway,
  { type, offset, limit, ...name }: Params<"object.list">,
): Promise<Results["object.list"]> {
  const conversation = await openObjects(gateway, name);
  const { sessionKey, sessionId } = conversation;
  const entries = objectsOf(conversation).filter((entry) => type === undefined || entry.type === type);
  const objects = entries.slice(offset, offset + limit).map(listed);
  return { sessionKey, sessionId, objects, count: entries.length };
}

export async function objectHistory(
  gateway: Gateway,
  { before = Number.POSITIVE_INFINITY, limit, ...name }: Params<"object.history">,
): Promise<Results["object.history"]> {
  const entry = await openObject(gateway, name);
  const versions = versionsOf(entry.moments);
  const { id, type } = entry;
  const asked = versions.filter(({ version_no }) => version_no < before);
  const newest = asked.slice(-limit).map((moment) => listedVersion(entry, moment));
  return { id, type, versions: newest, count: versions.length };
}

export async function compareObjects(
  gateway: Gateway,
  { from, to }: Params<"object.diff">,
): Promise<Results["object.diff"]> {
  const [before, after] = await Promise.all([getObject(gateway, from), getObject(gateway, to)]);
  const same = before.content === after.content;
  const diff = same ? "" : differenceOf(before, after);
  return { from: staticRef(before), to: staticRef(after), same, diff };
}

export async function getObject(gateway: Gateway, wanted: Params<"object.get">): Promise<MemoryObject> {
  const entry = await openObject(gateway, wanted);
  const version = wantedVersion(entry, wanted);
  if (version !== undefined) return entry.build(version);
  const { id, version: number, at, message, hash } = wanted;
  const which = Object.entries({ version: number, at, message, hash }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${value}`],
  );
  throw new PeerError(
    code.notFound,
    `object ${id} has no version with ${which.join(", ")}; object.history lists its versions`,
  );
}

function listed({ id, type, locked, moments, summary }: ObjectEntry): ListedObject {
  const { version_no = 1, at = 0, message = 0 } = moments.at(-1) ?? {};
  return { id, type, locked, version_no, at, message, ...summary };
}

function listedVersion(
  entry: ObjectEntry,
  { version_no, message }: ObjectEntry["moments"][number],
): ListedVersion {
  const object = entry.build(version_no);
  const { id, ...ref } = staticRef(object);
  const { parent_refs } = object.provenance;
  return { ...ref, message, ...(parent_refs ? { parent_refs } : {}) };
}

/** Longest time that two texts are compared, in milliseconds. */
const mostDiffMs = 5000;

/** @throws PeerError 413 when the comparison takes too long */
function differenceOf(before: MemoryObject, after: MemoryObject): string {
  const nameOf = ({ id, version_no }: MemoryObject) => `${id} version ${version_no}`;
  const patch = createTwoFilesPatch(
    ...([nameOf(before), nameOf(after)] as const),
    ...([before.content ?? "", after.content ?? "", undefined, undefined] as const),
    { timeout: mostDiffMs },
  );
  if (patch !== undefined) return patch.replace(/^=+\n/, "");
  const message = "the two contents are too different to be compared line by line; get each with object.get";
  throw new PeerError(code.tooLarge, message);
}
