import { afterAll, beforeAll, expect, it } from "vitest";
import { openNode, type Peer } from "../support/peer.ts";
import { type Random, seededRandom } from "../support/random.ts";
import { envelope, revisions, type Served, serve } from "./programs.ts";

const programs = 25;
const requestsEach = 40;

let served: Served;
let node: Peer & { calls: unknown[] };
beforeAll(async () => {
  served = await serve(() => ({ text: ["hello"] }));
  node = await openNode(served.dev.url, served.dev.token, "laptop", { Bash: () => "ran" });
});
afterAll(async () => {
  await node?.close();
  await served?.close();
});

const methods = [
  "tools/call",
  "tools/list",
  "tasks/get",
  "tasks/cancel",
  "tasks/update",
  "initialize",
  "ping",
];
const oddMethods = [
  "subscriptions/listen",
  "server/discover",
  "resources/read",
  "logging/setLevel",
  "__proto__",
  "",
];
const names = [
  "ask",
  "search",
  "memory",
  "sessions",
  "laptop__Bash",
  "gsv__ReadFile",
  "constructor",
  "x".repeat(500),
];

/** A value as a hostile program could send it anywhere. */
function value(random: Random, depth = 0): unknown {
  const leaves = [null, true, -1, 1e308, "", "x".repeat(3000), "\ud800", "__proto__", "../..", [], {}];
  if (depth > 3 || random.integer(3) > 0) return random.pick(leaves);
  if (random.integer(2) === 0) return [value(random, depth + 1), value(random, depth + 1)];
  return {
    [random.pick(["message", "id", "session", "query", "taskId", "_meta", "__proto__"])]: value(
      random,
      depth + 1,
    ),
  };
}

function hostileBody(random: Random): { body: string; method?: string; name?: string } {
  const made = random.integer(10);
  const odd = ["", "{", "[]", "null", "\0", `${"[".repeat(20_000)}${"]".repeat(20_000)}`];
  if (made === 0) return { body: random.pick(odd) };
  if (made === 1) return { body: JSON.stringify(value(random)) };
  const params = {
    name: random.integer(4) === 0 ? value(random) : random.pick(names),
    taskId:
      random.integer(4) === 0
        ? value(random)
        : Buffer.from(JSON.stringify(["default", "mcp-x", 1])).toString("base64url"),
    arguments:
      random.integer(3) === 0
        ? value(random)
        : { message: value(random), query: value(random), session: value(random), id: value(random) },
    ...(random.integer(3) > 0 ? { _meta: random.integer(6) === 0 ? value(random) : envelope } : {}),
  };
  const id = random.integer(8) === 0 ? value(random) : 1;
  const method = random.pick(random.integer(3) === 0 ? oddMethods : methods);
  const request = { jsonrpc: random.integer(16) === 0 ? value(random) : "2.0", id, method, params };
  const body = JSON.stringify(random.integer(12) === 0 ? [request, request] : request);
  const name = method === "tools/call" ? params.name : params.taskId;
  return { body, method, ...(typeof name === "string" ? { name: name.slice(0, 600) } : {}) };
}

function hostileHeaders(random: Random, token: string, { method = "", name = "" }): Record<string, string> {
  const mostly = <T>(usual: T, other: T) => (random.integer(16) === 0 ? other : usual);
  return {
    authorization: mostly(`Bearer ${token}`, random.pick(["", "Basic eDp5", "Bearer x", `bearer  ${token}`])),
    "content-type": mostly("application/json", "text/plain"),
    accept: mostly("application/json, text/event-stream", random.pick(["", "*/*", "text/html"])),
    "mcp-protocol-version": mostly(revisions[0], random.pick([...revisions, "1999-01-01", ""])),
    "mcp-method": mostly(method, random.pick([...methods, ""])),
    "mcp-name": mostly(/^[\x20-\x7e]*$/.test(name) ? name : "", random.pick(names.slice(0, 6))),
  };
}

it("answers 1,000 hostile requests of programs without an error of its own, and runs nothing on a node", async () => {
  const random = seededRandom(30);
  const statuses = new Map<number, number>();
  for (let i = 0; i < programs; i++) {
    const token = await served.tokenOf(`hostile ${i}`, ["mcp"]);
    const requests = Array.from({ length: requestsEach }, async () => {
      const method = random.integer(12) > 0 ? "POST" : random.pick(["GET", "DELETE", "PUT"]);
      const { body, ...named } = hostileBody(random);
      const headers = hostileHeaders(random, token, named);
      const response = await fetch(served.dev.cloud.mcp, {
        method,
        headers,
        ...(method === "POST" ? { body } : {}),
      });
      await response.arrayBuffer();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    });
    await Promise.all(requests);
  }
  console.log("answers by status", Object.fromEntries(statuses));
  expect([...statuses.keys()].filter((status) => status >= 500)).toEqual([]);
  expect([...statuses.values()].reduce((sum, count) => sum + count, 0)).toBe(programs * requestsEach);
  expect(statuses.get(200), "not all were refused at the door").toBeGreaterThan(100);
  expect(node.calls).toEqual([]);
});

it("refuses a body that is too large, and what comes after too many requests", async () => {
  const token = await served.tokenOf("greedy", ["mcp"]);
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const post = (body: string) => fetch(served.dev.cloud.mcp, { method: "POST", headers, body });
  expect((await post(`"${"x".repeat(5 * 1024 * 1024)}"`)).status).toBe(413);
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const answers = await Promise.all(Array.from({ length: 200 }, () => post(ping)));
  const late = answers.filter(({ status }) => status === 429);
  expect(late.length).toBeGreaterThan(10);
  expect(Number(late[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
});

it.each([
  ["no token", undefined, 401],
  ["a token that nobody made", `gsv_${"a".repeat(10)}_${"b".repeat(43)}`, 401],
  ["a node's token", ["node"] as const, 403],
  ["a token that may only answer requests", ["approve"] as const, 403],
  ["a token for nodes alone", ["mcp:nodes"] as const, 403],
])("refuses %s", async (name, given, status) => {
  const token = Array.isArray(given) ? await served.tokenOf(name, [...given]) : given;
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(served.dev.cloud.mcp, { method: "POST", headers, body: "{}" });
  expect(response.status).toBe(status);
  expect(response.headers.get("www-authenticate")).toMatch(/^Bearer /);
});

it("refuses a token at the moment it is revoked", async () => {
  const token = await served.tokenOf("revoked", ["mcp"]);
  const { table } = served.dev.cloud.world;
  const { revokeToken } = await import("../../shared/peers/tokens.ts");
  await revokeToken(table, token.split("_")[1] ?? "", Date.now());
  const headers = { authorization: `Bearer ${token}` };
  expect((await fetch(served.dev.cloud.mcp, { method: "POST", headers, body: "{}" })).status).toBe(401);
});
