import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { type Dev, startDev } from "../../local/dev/dev.ts";

const dir = mkdtempSync(join(tmpdir(), "gsv-dev-"));
let running: Dev | undefined;
afterEach(async () => {
  await running?.close();
  rmSync(dir, { recursive: true, force: true });
});

it("listens for peers and webhooks alone: its stores are not open to other programs", async () => {
  running = await startDev({ dir });
  const { ports } = JSON.parse(readFileSync(join(dir, "cloud.json"), "utf8"));
  expect(Object.keys(ports).sort()).toEqual(["webhook", "ws"]);
  const posted = await fetch(`${running.url.replace("ws:", "http:")}/@connections/x`, {
    method: "POST",
    body: "{}",
  });
  expect(posted.status).toBe(426);
});
