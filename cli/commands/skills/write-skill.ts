import { maxFileBytes } from "../../../shared/workspace/workspace-files.ts";
import type { Context } from "../../app/context.ts";
import { Failure, usage } from "../../app/failure.ts";
import { confirm } from "../../app/questions.ts";
import type { Gateway } from "../../gateway/gateway-client.ts";
import { pinName, type SkillPin } from "./skill-pin.ts";
import type { SkillFile } from "./skill-source.ts";

/** Number of files that are written in parallel. */
const writtenAtOnce = 8;

/** Where a skill is written. */
export interface SkillPlace {
  agentId: string;
  /** Name of its folder. */
  name: string;
}

/** Writes files of a skill and its pin, SKILL.md last, so that the skill is listed only when it is complete. */
export async function writeSkill(
  gateway: Gateway,
  { agentId, name }: SkillPlace,
  files: readonly SkillFile[],
  pin: SkillPin | undefined,
): Promise<void> {
  const write = ({ path, body, text }: SkillFile) => {
    const isText = text !== undefined && body.byteLength <= maxFileBytes;
    const content = isText ? { content: text } : { base64: Buffer.from(body).toString("base64") };
    return gateway.request("workspace.write", { path: `skills/${name}/${path}`, agentId, ...content });
  };
  const others = files.filter(({ path }) => path !== "SKILL.md");
  if (pin) {
    const text = `${JSON.stringify(pin, undefined, 2)}\n`;
    others.push({ path: pinName, body: Buffer.from(text), text });
  }
  for (let start = 0; start < others.length; start += writtenAtOnce)
    await Promise.all(others.slice(start, start + writtenAtOnce).map(write));
  for (const file of files.filter(({ path }) => path === "SKILL.md")) await write(file);
}

/** @throws Failure when the user refuses, or when there is no terminal */
export async function askToWrite({ terminal }: Context, { agentId, name }: SkillPlace): Promise<void> {
  if (terminal.stdin.isTTY !== true)
    throw usage(`no terminal to ask for confirmation; pass --yes to install ${name}`);
  if (!(await confirm(terminal, `Write it for the agent ${agentId}?`)))
    throw new Failure("cancelled", "nothing was written");
}
