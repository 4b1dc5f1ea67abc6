import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { killLeftovers, startGsv } from "../cli/gsv-process.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { until } from "../support/until.ts";
import { bridgeHouse } from "./bridge-house.ts";

/** `GSV_BRIDGE_KILLS=50 npx vitest run test/bridge/killed-bridge.test.ts` kills it 50 times in 1,000 messages. */
const kills = Number(process.env.GSV_BRIDGE_KILLS ?? 8);
const perKill = 20;
const messages = kills * perKill;

/** Far above the time of the test, so a busy machine does not fail it. */
const patience = 600_000;

const house = bridgeHouse();
afterEach(killLeftovers);

/** Starts `gsv bridge discord` as a user does, and waits until it reads messages. */
async function startBridge(cwd: string): Promise<() => Promise<unknown>> {
  const { child, stderr, ended } = startGsv(cwd, ["--config", "config.toml", "bridge", "discord"]);
  const leaves = ended.then((code) => Promise.reject(new Error(`it ended with code ${code}: ${stderr()}`)));
  leaves.catch(() => {});
  await Promise.race([leaves, until(() => stderr().includes("connected to Discord"))]);
  return () => {
    child.kill("SIGKILL");
    return ended;
  };
}

it(
  `${kills} kills in ${messages} messages lose and double none, in either direction`,
  async () => {
    house.answer = ({ turns }) => {
      const text = turns.findLast(({ role }) => role === "user")?.text ?? "";
      const number = /message (\d+)/.exec(text)?.[1] ?? "";
      asked.push(number);
      return { text: `answer ${number}` };
    };
    const asked: string[] = [];
    const cwd = newFolder();
    const { url, token, botToken, apiBaseUrl } = house.options;
    const discord = `[discord]\ntoken = "${token}"\nbot_token = "${botToken}"\napi_url = "${apiBaseUrl}"\n`;
    const gateway = `[gateway]\nurl = "${url}"\ntoken = "${house.dev.token}"\n`;
    writeFileSync(join(cwd, "config.toml"), `${gateway}${discord}`, { mode: 0o600 });
    const posted = () => house.discord.messages.map(({ content }) => content);
    let kill = await startBridge(cwd);
    for (let killed = 0; killed < kills; killed++) {
      const from = killed * perKill;
      for (let n = from; n < from + perKill; n++)
        house.gateway.write({ content: `message ${n}`, channel_id: String(7000 + (n % perKill)) });
      // While it forwards, or while it answers, after another number of messages each time.
      const [count, after] =
        killed % 2 ? [() => asked.length, killed % 10] : [() => posted().length, (killed * 7) % perKill];
      await until(() => count() >= from + after, "it works", patience);
      await kill();
      // Sometimes Discord has forgotten the session.
      if (killed % 5 === 4) house.gateway.endSessions();
      kill = await startBridge(cwd);
    }
    await until(() => posted().length >= messages, "every message is answered", patience);
    const { table } = house.dev.cloud.world;
    const queued = () => table.query({ pk: "OUT#discord#default" });
    await until(async () => (await queued()).length === 0, "every answer is confirmed");
    await kill();
    const numbers = Array.from({ length: messages }, (_, n) => String(n)).sort();
    expect(asked.sort()).toEqual(numbers);
    expect(posted().sort()).toEqual(numbers.map((number) => `answer ${number}`));
    const begun = (how: string) => house.gateway.begun.filter((one) => one === how).length;
    expect([begun("resume") > kills / 2, begun("refused") > 0]).toEqual([true, true]);
  },
  patience,
);
