import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { newFolder } from "../../../support/run/test-folders.ts";
import { killTerminals, startGsvAtTerminal } from "../../../support/terminal/pseudo-terminal.ts";
import { until } from "../../../support/until.ts";
import { withEmptyHome } from "../../node/processes.ts";
import { gsv } from "../../run-gsv.ts";
import { startTestGateway, type TestGateway } from "../../test-gateway.ts";

withEmptyHome();
let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(async () => {
  killTerminals();
  await gateway.stop();
});

const ended = (running: Promise<unknown>) => Promise.race([running.then(() => true), Promise.resolve(false)]);

it("an unattended node logs only to its file, and waits after a refusal before it exits", async () => {
  gateway.refuseWith = 401;
  const cwd = newFolder();
  const running = gsv(["-u", gateway.url, "-t", "revoked", "node", "--unattended", "state/node.log"], {
    cwd,
  });
  const file = join(cwd, "state/node.log");
  const log = () => (existsSync(file) ? readFileSync(file, "utf8") : "");
  await until(
    () => /ended: the gateway refused the token.*ten minutes\n$/s.test(log()) || undefined,
    "the reason",
  );
  expect(await ended(running)).toBe(false);
  expect(gateway.upgrades).toHaveLength(1);
  process.emit("SIGTERM");
  expect((await running).code).toBe(1);
});

it("a node with an invalid id is not started, and init does not save one", async () => {
  const reason = `not "my laptop!"; choose another with --id or \`gsv local-config set node.id\``;
  const runs = [
    ["node", "--id", "my laptop!"],
    ["init", "--node-id", "my laptop!"],
  ];
  for (const args of runs) {
    const { code, stderr } = await gsv([...args, "-u", gateway.url, "-t", "t"], {});
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
  }
  expect((await gsv(["node", "--id", "gsv", "-u", gateway.url, "-t", "t"], {})).stderr).toContain(
    '"gsv" is the gateway\'s own name; choose another',
  );
  expect(gateway.of("connect")).toEqual([]);
});

it("a node in the foreground uses the id of its option, and exits at a signal", async () => {
  const running = gsv(["node", "--id", "desk", "-u", gateway.url, "-t", "t"], {});
  await until(() => gateway.of("connect")[0], "it connects");
  expect(gateway.of("connect")[0]?.params.client).toMatchObject({ id: "desk", mode: "node" });
  const [socket] = gateway.sockets;
  socket?.ping();
  // Frames keep their order: the node has received the answer to `connect` by now.
  await once(socket!, "pong");
  process.emit("SIGTERM");
  const { code, stdout } = await running;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^node desk gives .*; Ctrl-C stops it\n$/);
});

it("a node at a terminal shows its calls, and elsewhere logs no command", async () => {
  const args = ["node", "--id", "desk", "-u", gateway.url, "-t", "t"];
  const asked = { callId: "c1", tool: "Bash", args: { command: "echo no; exit 3" } };
  const terminal = startGsvAtTerminal(args, { cwd: newFolder() });
  await terminal.sees(/Ctrl-C\s+stops it/);
  gateway.sendEvent("tool.invoke", asked);
  await terminal.sees("⏵ Bash echo no; exit 3 ✗ exit 3");
  expect(terminal.text()).not.toContain("call c1");
  terminal.type("\u0003");
  await terminal.ended;

  const running = gsv(args, {});
  await until(() => gateway.of("connect")[1], "it connects");
  gateway.sendEvent("tool.invoke", { ...asked, callId: "c2" });
  await until(() => gateway.of("tool.result")[1], "it answers");
  process.emit("SIGTERM");
  const { stderr } = await running;
  expect(stderr).toMatch(/call c2 Bash done after \d+ ms/);
  expect(stderr).not.toContain("echo");
});
