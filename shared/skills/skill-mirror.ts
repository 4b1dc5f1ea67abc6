import type { Configuration } from "../configuration/schema.ts";
import { isOfMachine, originsIn } from "../origins/origins.ts";
import type { PeerRecord } from "../peers/registry.ts";
import { code, PeerError } from "../protocol/errors.ts";
import { skillsCapability } from "../protocol/frames.ts";
import type { MirroredFile } from "../protocol/skill-schemas.ts";
import type { Bucket, Presigner } from "../world/world.ts";
import { evaluateSkills, type SkillStatus } from "./eligibility.ts";
import type { SkillContents } from "./skill-contents.ts";
import type { Skill } from "./skill-lister.ts";

/** Lifetime of a file's URL in seconds: its request must start within it. */
const urlSeconds = 300;

/** Number of files whose origins are read in parallel. */
const readAtOnce = 32;

/**
 * The folder of a skill on every machine that mirrors it, relative to the home of the node's user. Its name has the hash, so
 * that a machine needs nothing else to know whether it has the files.
 */
function mirrorFolder(agentId: string, { directory, contents }: Skill): string {
  return `~/.cache/gsv/skills/${agentId}/${directory}-${contents?.hash}`;
}

/** A usable skill as the prompt lists it, with its folder on the machines that can have it. */
export function withMirror(skill: SkillStatus, agentId: string, nodes: readonly PeerRecord[]): SkillStatus {
  const able = new Set(nodes.flatMap((node) => (canMirror(node) ? [node.id] : [])));
  const machines = skill.eligibleHosts.filter((id) => able.has(id));
  if (!skill.contents || machines.length === 0) return skill;
  return { ...skill, mirror: { folder: mirrorFolder(agentId, skill), machines } };
}

function canMirror({ capabilities = [] }: PeerRecord): boolean {
  return capabilities.includes(skillsCapability);
}

/**
 * The files of a skill for a node that is to run something of it.
 * @param node that asks; undefined if it has disconnected
 * @throws PeerError 404 for an unknown skill, 409 when its files have changed since its folder was named, 403 when the skill is
 *   not usable on this node, or when a file contains words of others than the owner and the machines
 */
export async function skillFiles(
  { bucket, presigner }: { bucket: Bucket; presigner: Presigner },
  { skills, configuration, node }: { skills: Skill[]; configuration: Configuration; node?: PeerRecord },
  { agentId, name, hash }: { agentId: string; name: string; hash: string },
): Promise<{ files: MirroredFile[] }> {
  const skill = skills.find(({ directory }) => directory === name);
  if (!skill?.contents)
    throw new PeerError(code.notFound, `the agent ${agentId} has no skill ${name} with files`);
  const { contents } = skill;
  if (contents.hash !== hash) {
    const message = `the skill ${name} has changed; its folder is now ${mirrorFolder(agentId, skill)}`;
    throw new PeerError(code.conflict, message);
  }
  const hosts = node?.runtime ? [{ ...node.runtime, nodeId: node.id }] : [];
  const surroundings = { entries: configuration.skills.entries, hosts, config: configuration };
  const [status] = evaluateSkills([skill], surroundings);
  if (!status?.eligible || (!status.always && status.eligibleHosts.length === 0))
    throw new PeerError(
      code.forbidden,
      `the skill ${name} is not usable here: ${status?.reasons.join("; ")}`,
    );
  const checked = contents.files.filter(({ path }) => path !== "SKILL.md");
  for (let start = 0; start < checked.length; start += readAtOnce)
    await Promise.all(
      checked.slice(start, start + readAtOnce).map((file) => checkOrigins(bucket, name, file)),
    );
  const files = contents.files.map(async ({ path, key, size }) => ({
    ...{ path, size },
    url: await presigner.get(key, urlSeconds),
  }));
  return { files: await Promise.all(files) };
}

/** A run that uses a script does not read it: words of others in it would not count as read. @throws PeerError 403 */
async function checkOrigins(
  bucket: Bucket,
  name: string,
  { path, key }: SkillContents["files"][number],
): Promise<void> {
  const foreign = originsIn((await bucket.head(key))?.metadata ?? {}).filter(
    (origin) => !isOfMachine(origin),
  );
  if (foreign.length === 0) return;
  const message = `${path} of the skill ${name} contains words of ${foreign.join(", ")}: no machine gets it until your human has read it and written it again (\`gsv workspace write\`)`;
  throw new PeerError(code.forbidden, message);
}
