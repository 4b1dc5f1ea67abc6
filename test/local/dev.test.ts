import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type Dev, startDev } from "../../local/dev/dev.ts";
import { writeGatewayFile } from "../../local/dev/dev-state.ts";
import { acquireDream, readDream } from "../../shared/dreaming/dream-state.ts";
import { claimId } from "../../shared/peers/peer-ids.ts";
import { listTokens } from "../../shared/peers/tokens.ts";
import { readSession } from "../../shared/session/sessions.ts";
import { isLeased } from "../../shared/session/state.ts";
import { set } from "../../shared/world/expression.ts";
import { configurationKey } from "../../shared/world/stored-format.ts";
import { killLeftovers, startGsv } from "../cli/gsv-process.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { standingAdmin } from "../support/standing-admin.ts";
import { until } from "../support/until.ts";

const home = newFolder();
const dir = join(home, ".gsv");
let running: Dev | undefined;
afterEach(async () => {
  killLeftovers();
  await running?.close();
});

it("listens for peers, webhooks, clients of OpenAI's API, MCP and browsers alone: its stores are not open to other programs", async () => {
  running = await startDev({ dir });
  const { ports } = JSON.parse(readFileSync(join(dir, "cloud.json"), "utf8"));
  expect(Object.keys(ports).sort()).toEqual(["mcp", "openai", "page", "webhook", "ws"]);
  const posted = await fetch(`${running.url.replace("ws:", "http:")}/@connections/x`, {
    method: "POST",
    body: "{}",
  });
  expect(posted.status).toBe(426);
});

it("asks the owner of a new gateway in mode guard, and of an older one as its owner has chosen", async () => {
  const folder = join(newFolder(), ".gsv");
  const mode = async () => {
    running = await startDev({ dir: folder });
    const { toolApproval } = await running.configuration.load();
    return toolApproval.mode;
  };
  expect(await mode()).toBe("guard");
  await running?.configuration.set("toolApproval", null);
  await running?.close();
  expect(await mode()).toBe("off");
  await running?.close();
  // Its file is lost, but not its data.
  rmSync(join(folder, "gateway.json"));
  expect(await mode()).toBe("off");
});

it("resumes a turn at once whose process was killed: nothing waits for the lease of a dead process", async () => {
  const model = await startOpenAiServer((_request, index) =>
    index === 0 ? { hang: true } : { text: ["done"] },
  );
  const env = { GSV_MODEL_BASE_URL: model.url, GSV_MODEL: "m" };
  const killed = startGsv(home, ["dev"], env);
  killed.child.stdin.write("hello\n");
  await until(() => model.requests.length === 1, "the model was asked");
  killed.child.kill("SIGKILL");
  await killed.ended;
  const sessionKey = "agent:main:main";

  running = await startDev({ dir, passive: true });
  const { table } = running.cloud.world;
  const left = await readSession(table, sessionKey);
  expect(left?.run).toBeDefined();
  expect(left && isLeased(left, Date.now())).toBe(false);
  await acquireDream(table, "main", "a dead sweep", Date.now());
  await running.close();

  running = await startDev({ dir });
  const { world } = running.cloud;
  await until(async () => (await readSession(world.table, sessionKey))?.run === undefined, "the turn ended");
  expect(model.requests).toHaveLength(2);
  expect((await readDream(world.table, "main")).owner).not.toBe("a dead sweep");
  await model.close();
}, 20_000);

it("replaces its token of an earlier version, which has admin rights, and hands over the nodes", async () => {
  const folder = newFolder();
  const before = await startDev({ dir: folder });
  const earlier = await standingAdmin(before.cloud.world.table);
  await before.cloud.world.table.update({ pk: "TOKEN", sk: earlier.id }, [set("name", "local")]);
  await claimId(before.cloud.world.table, { mode: "node", id: "laptop" }, earlier.id, Date.now());
  await before.close();
  await writeGatewayFile(folder, { url: before.url, token: earlier.token });

  running = await startDev({ dir: folder });
  const { token, cloud } = running;
  const tokens = await listTokens(cloud.world.table, Date.now());
  expect(tokens).toMatchObject([{ name: "local", scopes: ["client", "node", "approve"] }]);
  await claimId(cloud.world.table, { mode: "node", id: "laptop" }, tokens[0]?.id ?? "", Date.now());
  await running.close();
  running = await startDev({ dir: folder });
  expect(running.token).toBe(token);
});

const written = "a newer version of gsv has written this data";

it.each<[string, string, (folder: string) => void]>([
  [
    "files of a newer layout",
    `${written} (folder layout 2; this version reads 1): use that version again`,
    (folder) => writeFileSync(join(folder, "cloud.json"), JSON.stringify({ ports: {}, layout: 2 })),
  ],
  [
    "conversations that an early version has begun beside the table",
    "has conversations of an early version of gsv, which this version cannot read: move it away",
    (folder) => mkdirSync(join(folder, "dynamodb")),
  ],
])("refuses a folder with %s in one sentence", async (_what, sentence, change) => {
  const folder = newFolder();
  change(folder);
  await expect(startDev({ dir: folder })).rejects.toThrow(sentence);
});

it("refuses a folder whose items only a newer version reads, and reads its own", async () => {
  const folder = newFolder();
  const first = await startDev({ dir: folder });
  expect(await first.cloud.world.table.get(configurationKey)).toMatchObject({ minReader: 2 });
  await first.cloud.world.table.update(configurationKey, [set("minReader", 3)]);
  await first.close();
  await expect(startDev({ dir: folder })).rejects.toThrow(
    `${folder}: ${written} (storage format 3; this version reads 2): use that version again`,
  );
});
