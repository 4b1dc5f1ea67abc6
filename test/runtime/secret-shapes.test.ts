import { expect, it } from "vitest";
import { createToken } from "../../shared/peers/tokens.ts";
import { findSecret, redact } from "../../shared/runtime/secret-shapes.ts";
import { startState } from "../support/state.ts";

// Examples consist of parts, so that no scanner takes this file for a leak.
const letters = (length: number) => "aB3dE6gH".repeat(20).slice(0, length);
const examples: Record<string, readonly string[]> = {
  openai_key: [`sk-proj-${letters(40)}`, `sk-or-v1-${"0a".repeat(32)}`],
  gitlab_token: [`glpat-${letters(20)}`, `glrt-${letters(20)}`, `gldt-${letters(20)}`],
  npm_token: [`npm_${letters(36)}`],
  hugging_face_token: [`hf_${letters(34)}`],
  discord_token: [`${letters(26)}.G${letters(5)}.${letters(38)}`, `mfa.${letters(84)}`],
  discord_webhook: [letters(68)],
  github_token: [`ghp_${letters(36)}`, `github_pat_${letters(60)}`],
  slack_token: [`xoxb-${letters(30)}`, `xoxe.xoxp-${letters(30)}`, `xapp-1-${letters(30)}`],
  slack_webhook: [`T0${letters(8)}/B0${letters(8)}/${letters(24)}`],
  google_key: [`AIza${letters(35)}`, `GOCSPX-${letters(28)}`, `ya29.${letters(60)}`],
  meta_token: [`EAA${letters(120)}`],
  telegram_token: [`123456789:${letters(35)}`],
  provider_key: ["gsk_", "xai-", "pplx-", "nvapi-", "tvly-", "ABSK", "hvs.", "SG."].map(
    (start) => `${start}${letters(32)}`,
  ),
  bearer_token: [letters(24)],
};
const before: Record<string, string> = {
  bearer_token: "Authorization: Bearer ",
  discord_webhook: "https://discord.com/api/webhooks/123456789012345678/",
  slack_webhook: "https://hooks.slack.com/services/",
};

it.each(Object.keys(examples))("%s is recognized and replaced", (label) => {
  for (const secret of examples[label] ?? []) {
    const text = `it is ${before[label] ?? ""}${secret} , remember`;
    expect(findSecret(text), secret).toBe(label);
    expect(redact(text), secret).toContain(`it is ${before[label] ?? ""}[REDACTED:${label}] , remember`);
  }
});

it("every token that the gateway creates is recognized, also inside of a setting", async () => {
  const { table } = await startState();
  for (let number = 0; number < 100; number++) {
    const { token } = await createToken(table, { name: `t${number}`, scopes: ["client"] }, 0);
    expect(redact(`GSV_TOKEN=${token}`)).toBe("GSV_TOKEN=[REDACTED:gsv_token]");
  }
});

it.each([
  "gsv__session_logs and gsv_token are names",
  "npm_config_registry, hf_hub_download and glpat-short",
  "see shared/runtime/secret-shapes.ts, version 1.22.333 of example.org",
  "a bearer of responsibilities_and_more_words",
])("an ordinary text has no secret: %s", (text) => {
  expect(findSecret(text)).toBeUndefined();
});

it.each([
  ...[
    " ",
    "\n",
    "password ",
    "password: is : ",
    "密码 ",
    "Bearer ",
    "eyJ-",
    "://u:",
    "aB1",
    "sk-proj-",
    "gsv_a",
  ],
  ...["password=", "mfa.", "EAA", "0", "glpat-", "-----BEGIN PRIVATE KEY-----", "-----BEGIN A "],
])("a text that repeats %j costs no more time than its length", (piece) => {
  for (const start of ["", "password", "Bearer", "密码", "pin is"])
    expect(redact(start + piece.repeat(200_000 / piece.length)).length).toBeGreaterThan(0);
});

it("a password behind many blanks is recognized", () => {
  for (const text of ["password", "mot de passe :", "clave  es", "密码 是", "パスワード：", "Bearer"])
    expect(findSecret(`${text}${" ".repeat(30)}hunter2aB3dE6gHaB3dE6gH`), text).toBeDefined();
});
