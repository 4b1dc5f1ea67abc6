import { afterAll, beforeAll, expect, it } from "vitest";
import { exportFormats } from "../../../shared/protocol/objects.ts";
import { type Household, openHousehold } from "../household.ts";

/** Export redaction: a conversation that is passed on without its secrets contains one (CWE-212). */

// Examples consist of parts, so that no scanner takes this file for a leak.
const letters = "aB3dE6gHjK9mN2pQrS5tU8vW".repeat(3);
const secrets = {
  ofGateway: `gsv_abcdefghjk_${letters.slice(0, 43)}`,
  gitLab: `glpat-${letters.slice(0, 20)}`,
  npm: `npm_${letters.slice(0, 36)}`,
  huggingFace: `hf_${letters.slice(0, 34)}`,
  discord: `${letters.slice(0, 26)}.G${letters.slice(0, 5)}.${letters.slice(0, 38)}`,
  password: "hunter2!x9",
};

let house: Household;
const sessionKey = "agent:main:export";
beforeAll(async () => {
  house = await openHousehold();
  const { password, ...tokens } = secrets;
  const text = Object.values(tokens).join(" and ");
  await house.say(house.peers.client, sessionKey, `${text}, the password: ${password}`);
  const args = { command: `echo ${text}`, login: { password }, [tokens.npm]: { "api-key": password } };
  await house.say(house.peers.client, sessionKey, `call laptop__Bash ${JSON.stringify(args)}`);
});
afterAll(() => house.close());

const exported = async (format: string, redact: boolean) =>
  (await house.peers.client.call<{ text: string }>("session.export", { sessionKey, format, redact })).text;

it.each(exportFormats)(
  "in the format %s no secret of a message, a call or an answer is left",
  async (format) => {
    const whole = await exported(format, false);
    for (const secret of Object.values(secrets)) expect(whole).toContain(secret);
    const text = await exported(format, true);
    for (const [name, secret] of Object.entries(secrets)) expect(text, name).not.toContain(secret);
    expect(text).toContain("[REDACTED:");
    for (const line of text.trim().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
  },
);
