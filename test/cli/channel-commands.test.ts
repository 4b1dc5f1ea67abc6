import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PeerError } from "../../shared/protocol/errors.ts";
import { type FakeGateway, type FakeMethod, startFakeGateway } from "./fake-gateway.ts";
import { type GsvOptions, gsv } from "./run-gsv.ts";

let gateway: FakeGateway;
const run = (args: string[], options: GsvOptions = {}) =>
  gsv(args, { ...options, env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token", ...options.env } });
const answers = (table: Record<string, FakeMethod>) => {
  gateway.methods = table;
};

beforeEach(async () => {
  gateway = await startFakeGateway({});
});
afterEach(() => gateway.close());

describe("gsv pair", () => {
  const pair = {
    channel: "telegram",
    accountId: "default",
    senderId: "42",
    requestedAt: Date.UTC(2026, 0, 2, 12),
    expiresAt: Date.UTC(2026, 0, 4, 12),
  };

  it("lists who asks, and lets nothing they wrote reach the terminal's controls", async () => {
    const shady = { ...pair, senderName: "\u001b[2JAnn\u202e", message: "hi\u0007\nthere" };
    answers({ "pair.list": () => ({ pairs: { "telegram:default:42": shady } }) });
    const { stdout } = await run(["pair", "list"]);
    expect(stdout).toMatch(/\ntelegram {2}default {2}42 +\[2JAnn +2026-01-02 \d\d:\d\d {2}hi there\n$/);
    expect(JSON.parse((await run(["pair", "list", "--json"])).stdout).pairs["telegram:default:42"]).toEqual(
      shady,
    );
  });

  it("says that nobody asks", async () => {
    answers({ "pair.list": () => ({ pairs: {} }) });
    expect((await run(["pair", "list"])).stdout).toBe("nobody asks to be let in\n");
  });

  it("approves and rejects by channel and id, and passes on what the gateway says", async () => {
    answers({
      "pair.approve": ({ params }) => ({ approved: true, senderId: params.senderId, senderName: "Ann" }),
      "pair.reject": () => {
        throw new PeerError(404, "nobody asks to be let in as 43 on telegram");
      },
    });
    const approved = await run(["pair", "approve", "Telegram", "42"]);
    expect(approved.stdout).toBe("Ann (42) may write now; a message that waited is being answered\n");
    expect(gateway.requests.at(-1)?.params).toEqual({ channel: "telegram", senderId: "42" });
    const rejected = await run(["pair", "reject", "telegram", "43"]);
    expect(rejected.code).toBe(1);
    expect(rejected.stderr).toContain("nobody asks to be let in as 43");
  });

  it.each([
    ["pair", "approve", "telegram"],
    ["pair", "reject"],
  ])("needs a channel and an id: %s %s %s", async (...args) => {
    expect((await run(args.filter((arg) => arg !== undefined))).code).toBe(2);
    expect(gateway.requests).toEqual([]);
  });
});
