import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, expect, it } from "vitest";
import { findSentText } from "../../shared/channels/sent-text.ts";
import { createToken } from "../../shared/peers/tokens.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { until } from "../support/until.ts";
import { bridgeHouse } from "./bridge-house.ts";
import { startMatrixServer } from "./matrix-server.ts";

const house = bridgeHouse();
const [, program = ""] = /```js\n(.*?)```/s.exec(readFileSync("docs/bridges.md", "utf8")) ?? [];
let bridge: ChildProcess;
afterEach(() => bridge.kill("SIGKILL"));

it("the bridge of docs/bridges.md has 60 lines, and answers each message once, also after it was killed", async () => {
  expect(program.trimEnd().split("\n")).toHaveLength(60);
  house.answer = ({ turns }) => {
    const text = turns.findLast(({ role }) => role === "user")?.text ?? "";
    return { text: `Heard ${/one|two|three/.exec(text)?.[0]}.` };
  };
  await house.dev.configuration.set("channels.matrix", { dmPolicy: "open" });
  const grant = { name: "matrix", scopes: ["channel" as const], channel: "matrix", accountId: "default" };
  const { token } = await createToken(house.dev.cloud.world.table, grant, Date.now());
  const matrix = await startMatrixServer();
  const cwd = newFolder();
  writeFileSync(join(cwd, "matrix.mjs"), program);
  symlinkSync(resolve("node_modules"), join(cwd, "node_modules"));
  const env = { PATH: process.env.PATH, GSV_URL: house.dev.url, GSV_TOKEN: token };
  const start = () => {
    const more = { MATRIX_URL: matrix.url, MATRIX_TOKEN: matrix.token };
    bridge = spawn(process.execPath, ["matrix.mjs"], { cwd, env: { ...env, ...more }, stdio: "inherit" });
  };
  const texts = () => matrix.sent.map(({ body }) => body);
  start();
  await until(() => existsSync(join(cwd, "since")));
  matrix.write("one");
  await until(() => texts().length === 1);
  expect(matrix.sent[0]).toMatchObject({ "m.relates_to": { "m.in_reply_to": { event_id: "$0" } } });
  const { table } = house.dev.cloud.world;
  const sent = { channel: "matrix", accountId: "default", messageId: "$sent" };
  const peer = { kind: "dm", id: "!house:example.org" } as const;
  // A reply would find it.
  await until(async () => (await findSentText(table, { ...sent, peer }, Date.now())) !== undefined);
  matrix.write("two");
  bridge.kill("SIGKILL");
  await once(bridge, "exit");
  matrix.write("three");
  start();
  await until(() => texts().length === 3);
  expect(texts()).toEqual(["Heard one.", "Heard two.", "Heard three."]);
  await matrix.close();
});
