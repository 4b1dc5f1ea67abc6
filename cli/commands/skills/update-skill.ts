import { createTwoFilesPatch } from "diff";
import { createGuardedFetch } from "../../../shared/http/guarded-fetch.ts";
import { code } from "../../../shared/protocol/errors.ts";
import { showHidden } from "../../../shared/runtime/hidden-characters.ts";
import { sizeText } from "../../../shared/runtime/size-text.ts";
import { pairs } from "../../app/columns.ts";
import type { Context } from "../../app/context.ts";
import { Failure } from "../../app/failure.ts";
import type { Invocation } from "../../app/options.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { deleteFiles } from "./installed-files.ts";
import { pinOf, readPin, readText, type SkillPin } from "./skill-pin.ts";
import { originRows, refuseHidden } from "./skill-preview.ts";
import { type NewSkill, readSkill, type SkillFile } from "./skill-source.ts";
import { askToWrite, type SkillPlace, writeSkill } from "./write-skill.ts";

/**
 * Reads a skill's address again, shows what differs from the installed files, asks, and writes only that. Files that the
 * agent added, and its changes of files that are the same at the address, remain.
 * @throws Failure for a skill that has no address
 */
export async function updateSkill(
  context: Context,
  { options }: Invocation,
  place: SkillPlace,
  fetchGuarded = createGuardedFetch(),
): Promise<void> {
  const { agentId, name } = place;
  const gateway = await context.gateway();
  const pin = await readPin(gateway, agentId, name);
  if (!pin)
    throw new Failure(
      code.notFound,
      `the agent ${agentId} has no skill ${name} that came from an address; \`gsv skills add SOURCE --name ${name}\` installs or replaces one`,
    );
  const skill = await readSkill(pin.source, context.terminal.cwd, fetchGuarded);
  const next = pinOf(skill);
  if (next?.hash === pin.hash)
    return context.print({ agentId, name, updated: false, ...pin }, `${name} is up to date (${pin.source})`);

  const changed = skill.files.filter(({ path }) => pin.files[path] !== next?.files[path]);
  const removed = Object.keys(pin.files).filter((path) => next?.files[path] === undefined);
  context.note(await changesText(gateway, place, { skill, pin, changed, removed }));
  if (options.allowHidden !== true) refuseHidden(skill);
  if (options.yes !== true) await askToWrite(context, place);
  await writeSkill(gateway, place, changed, next);
  await deleteFiles(
    gateway,
    agentId,
    removed.map((path) => `skills/${name}/${path}`),
  );
  const paths = changed.map(({ path }) => path);
  const count = paths.length + removed.length;
  context.print(
    { agentId, name, updated: true, changed: paths, removed, ...next },
    `updated ${name} for the agent ${agentId} (${count} file${count === 1 ? "" : "s"})`,
  );
}

/** The differences to the installed files. Hidden characters are shown as `⟨U+E0072⟩`. */
async function changesText(
  gateway: Gateway,
  { agentId, name }: SkillPlace,
  {
    skill,
    pin,
    changed,
    removed,
  }: { skill: NewSkill; pin: SkillPin; changed: SkillFile[]; removed: string[] },
): Promise<string> {
  const gone = removed.map((path): SkillFile => ({ path, body: new Uint8Array(), text: "" }));
  const patches = [...changed, ...gone].map(async ({ path, body, text }) => {
    const old = await readText(gateway, agentId, `skills/${name}/${path}`);
    if (text === undefined || (old === undefined && pin.files[path] !== undefined))
      return `${path}: not text, now ${sizeText(body.byteLength)}\n`;
    return createTwoFilesPatch(`installed/${path}`, `new/${path}`, old ?? "", text, undefined, undefined, {
      headerOptions: { includeIndex: false, includeUnderline: false, includeFileHeaders: true },
    });
  });
  const head = pairs([
    ["skill", name],
    ...originRows(skill),
    ["installed", pin.commit ?? `sha256 ${pin.hash}`],
    ["deleted", removed.join(", ") || undefined],
  ]);
  return showHidden([head, "", ...(await Promise.all(patches))].join("\n"));
}
