import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { bridgeHouse } from "../../../bridge/bridge-house.ts";
import { newFolder } from "../../../support/run/test-folders.ts";
import { until } from "../../../support/until.ts";
import { type GsvOptions, gsv, interruptHere, startHere } from "../../run-gsv.ts";
import { fakeSupervisors } from "../node/fake-supervisors.ts";

const house = bridgeHouse();
afterEach(interruptHere);

/** A user's machine whose config file names the gateway, with a client's token, and the fake of Discord. */
function machine(): { cwd: string; config: string; options: GsvOptions } {
  const cwd = newFolder();
  const config = join(cwd, "config.toml");
  const gateway = `[gateway]\nurl = "${house.dev.url}"\ntoken = "${house.dev.token}"\n`;
  writeFileSync(config, `${gateway}[discord]\napi_url = "${house.discord.url}"\n`, { mode: 0o600 });
  return { cwd, config, options: { cwd } };
}

const botToken = () => house.discord.botToken;

it("gsv bridge discord makes a token for itself once, and brings messages until Ctrl-C", async () => {
  house.answer = () => ({ text: "Heard." });
  const { cwd, config } = machine();
  const { token: admin } = await house.dev.createAdmin();
  const args = ["--config", config, "bridge", "discord", "--json"];
  const first = startHere(args, { cwd, env: { GSV_ADMIN_TOKEN: admin, GSV_DISCORD_BOT_TOKEN: botToken() } });
  const [line] = await first.prints(/.*\n/);
  expect(JSON.parse(line)).toEqual({ channel: "discord", accountId: "default", url: house.dev.url });
  await until(() => house.gateway.begun.length > 0);
  house.gateway.write({ content: "hello" });
  await until(() => house.discord.messages.length === 1);
  await interruptHere();
  expect(await first.ended).toBe(0);
  expect(readFileSync(config, "utf8")).toMatch(/\[discord\][^[]*\ntoken = "gsv_/);
  expect(readFileSync(config, "utf8")).not.toContain(botToken());
  const file = join(cwd, "bot-token");
  writeFileSync(file, `${botToken()}\n`);
  const second = startHere([...args, "--bot-token-file", "bot-token"], { cwd });
  await second.prints(/.*\n/);
  await until(() => house.gateway.begun.length === 2);
  expect(house.gateway.begun).toEqual(["identify", "resume"]);
});

it("gsv bridge discord says where a bot's token comes from when there is none, and that a name is wrong", async () => {
  const { config, options } = machine();
  const missing = await gsv(["--config", config, "bridge", "discord"], options);
  expect(missing.stderr).toMatch(
    /the bot's token is missing; pass --bot-token-file or set GSV_DISCORD_BOT_TOKEN/,
  );
  const wrong = await gsv(["--config", config, "bridge", "discord", "--account", "../x"], options);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('not "../x"') });
});

it("gsv bridge discord ends when Discord refuses the bot's token, and shows no token", async () => {
  const { config, options } = machine();
  const token = ["--token", house.options.token];
  const run = await gsv(["--config", config, ...token, "bridge", "discord"], {
    ...options,
    env: { GSV_DISCORD_BOT_TOKEN: "wrong.bot.token" },
  });
  expect(run.code).toBe(1);
  expect(run.stderr).toMatch(/Discord refuses the bot: .*401/);
  expect(run.stderr).not.toContain("wrong.bot.token");
});

it("gsv bridge discord install keeps both tokens in a file that only the user can read", async () => {
  const { cwd, config, options } = machine();
  const { token: admin } = await house.dev.createAdmin();
  const supervisors = fakeSupervisors(cwd);
  const env = { ...supervisors.env, GSV_ADMIN_TOKEN: admin };
  const run = await gsv(
    ["--config", config, "bridge", "discord", "install", "--bot-token-file", "-", "--rooms", "--json"],
    {
      ...{ ...options, env, input: `${botToken()}\n` },
    },
  );
  const installed = JSON.parse(run.stdout);
  expect(installed).toMatchObject({ ok: true, channel: "discord", accountId: "default" });
  const unit = readFileSync(installed.file, "utf8");
  expect(unit).toContain('"bridge" "discord" "--unattended"');
  const stored = readFileSync(installed.config, "utf8");
  expect(stored).toMatch(/token = "gsv_.*rooms = "on"/s);
  expect(stored).toContain(`bot_token = "${botToken()}"`);
  expect([unit, run.stdout, run.stderr].join()).not.toContain(botToken());
  expect(statSync(installed.config).mode & 0o777).toBe(0o600);
  const status = JSON.parse(
    (await gsv(["bridge", "discord", "status", "--json"], { ...options, env })).stdout,
  );
  expect(status).toMatchObject({ installed: true, accountId: "default", url: house.dev.url });
});
