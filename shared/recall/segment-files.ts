import { gunzipSync, gzipSync } from "node:zlib";
import { originsIn } from "../origins/origins.ts";
import { readArchive } from "../session/archive.ts";
import { type Bucket, PreconditionFailed } from "../world/world.ts";
import type { Segment, Turn } from "./segment.ts";
import { numberTurns } from "./turns-of.ts";
import { vectorsKey } from "./vectors/vector-files.ts";

/** Maximum characters of the turns in one object; a longer segment has several. */
const maxCharacters = 5_000_000;

/** The key prefix of the segments of an agent's archives. */
export function segmentsPrefix(agentId: string): string {
  return `agents/${agentId}/recall/s/`;
}

/** The key of an archive's segment. */
export function segmentKey(archiveKey: string): string {
  return archiveKey.replace(/\/sessions\/([^/]+)\.jsonl\.gz$/, "/recall/s/$1.json.gz");
}

/** The key of an object's segment: its own key, except for the second and later objects of a long segment. */
export function segmentOf(key: string): string {
  return key.replace(/\.\d+\.json\.gz$/, ".json.gz");
}

/** The conversation of a segment's object. */
export function sessionIdOfSegment(key: string): string {
  return key.replace(/^.*\//, "").replace(/(-part\d+)?(\.\d+)?\.json\.gz$/, "");
}

/**
 * Writes the segment of an archive. Safe to repeat: the same archive gives the same segment, and an existing one stays.
 * The object that marks the segment as complete is written last.
 * @throws when there is no such archive, or it is damaged
 */
export async function writeSegment(bucket: Bucket, archiveKey: string): Promise<void> {
  const head = await bucket.head(archiveKey);
  if (!head) throw new Error(`there is no archive ${archiveKey}`);
  const { agentId = "", sessionKey = "", sessionId = "", archivedAt } = head.metadata;
  const origins = originsIn(head.metadata);
  const add = numberTurns();
  const turns: Turn[] = [];
  for await (const message of readArchive(bucket, archiveKey)) {
    const turn = add(message);
    if (turn) turns.push(turn);
  }
  const about = {
    v: 1 as const,
    agentId,
    sessionKey,
    sessionId,
    at: Number(archivedAt),
    ...(origins.length === 0 ? {} : { origins }),
  };
  await putSegment(bucket, segmentKey(archiveKey), { ...about, turns });
}

/** Writes a segment, in several objects when it is long. Existing objects stay. */
export async function putSegment(bucket: Bucket, key: string, segment: Segment): Promise<void> {
  const pieces = split(segment.turns);
  for (const [i, turns] of [...pieces.entries()].reverse()) {
    const pieceKey = i === 0 ? key : key.replace(/\.json\.gz$/, `.${i + 1}.json.gz`);
    const body = gzipSync(JSON.stringify({ ...segment, turns }));
    try {
      await bucket.put(pieceKey, body, { contentType: "application/gzip", ifAbsent: true });
    } catch (error) {
      if (!(error instanceof PreconditionFailed)) throw error;
    }
  }
}

/** At least one piece: an archive without turns also gets a segment, so that it is not read again. */
function split(turns: readonly Turn[]): Turn[][] {
  const pieces: Turn[][] = [[]];
  let characters = 0;
  for (const turn of turns) {
    if (characters > 0 && characters + turn.text.length > maxCharacters) {
      pieces.push([]);
      characters = 0;
    }
    pieces.at(-1)?.push(turn);
    characters += turn.text.length;
  }
  return pieces;
}

/** Undefined when it was deleted meanwhile. @throws when it is damaged */
export async function readSegment(bucket: Bucket, key: string): Promise<Segment | undefined> {
  const object = await bucket.get(key);
  return object && (JSON.parse(gunzipSync(object.body).toString("utf8")) as Segment);
}

/** The keys of the existing objects of an archive's segment. */
export async function segmentPieces(bucket: Bucket, archiveKey: string): Promise<string[]> {
  const { objects } = await bucket.list(segmentKey(archiveKey).replace(/\.json\.gz$/, "."));
  return objects.map(({ key }) => key);
}

/** The keys of the existing objects of a conversation's segments. */
export async function segmentsOf(bucket: Bucket, agentId: string, sessionId: string): Promise<string[]> {
  const { objects } = await bucket.list(`${segmentsPrefix(agentId)}${sessionId}`);
  return objects.map(({ key }) => key).filter((key) => sessionIdOfSegment(key) === sessionId);
}

/** Deletes the segment of an archive and its vectors. Missing ones are no error. */
export async function deleteSegment(bucket: Bucket, archiveKey: string): Promise<void> {
  for (const key of await segmentPieces(bucket, archiveKey)) {
    await bucket.delete(vectorsKey(key));
    await bucket.delete(key);
  }
}
