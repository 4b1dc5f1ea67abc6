import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { openAdminCodes } from "../../local/dev/admin-codes.ts";
import type { HttpHandler } from "../../local/http/http-endpoint.ts";
import { createToken, createTokenVerifier } from "../../shared/peers/tokens.ts";
import { type State, startState } from "../support/state.ts";

let state: State;
let bearers: Record<"client" | "node", string>;
beforeAll(async () => {
  state = await startState();
  const tokenOf = async (scope: "client" | "node") =>
    (await createToken(state.table, { name: scope, scopes: [scope] }, 1)).token;
  bearers = { client: await tokenOf("client"), node: await tokenOf("node") };
});
afterAll(() => state.close());

let shown: string[];
let now: number;
let handle: HttpHandler;
beforeEach(() => {
  [shown, now] = [[], 1_000_000];
  const show = (code: string) => void shown.push(code);
  handle = openAdminCodes(
    state.table,
    show,
    async () => ({ status: 426 }),
    () => now,
  );
});

async function post(body: object, token: string | undefined = bearers.client, path = "/admin") {
  const headers = { authorization: token === "" ? undefined : `Bearer ${token}` };
  const request = { method: "POST", path, rawQuery: "", headers, sourceIp: "127.0.0.1" };
  const answer = await handle({ ...request, body: Buffer.from(JSON.stringify(body)) });
  return { status: answer.status, ...JSON.parse(String(answer.body ?? "{}")) };
}
const newCode = async () => {
  expect(await post({})).toMatchObject({ status: 202 });
  return shown.at(-1) ?? "";
};

it("a client that names the shown code gets a token with the scope admin for 15 minutes", async () => {
  const code = await newCode();
  const { status, token } = await post({ code: ` ${code.replace("-", "").toUpperCase()} ` });
  expect(status).toBe(200);
  const holder = await createTokenVerifier(state.table, () => now).verify(token);
  expect(holder).toMatchObject({ scopes: ["admin"], until: now + 15 * 60_000 });
});

it("a code is not sent, and is good once", async () => {
  expect(JSON.stringify(await post({}))).not.toContain(shown[0]);
  const code = shown[0];
  expect(await post({ code })).toMatchObject({ status: 200 });
  expect(await post({ code })).toMatchObject({ status: 403 });
});

it("a code is good for two minutes, until the next one, and for three attempts", async () => {
  const late = await newCode();
  now += 120_000;
  expect(await post({ code: late })).toMatchObject({ status: 403 });
  const [replaced, guessed] = [await newCode(), await newCode()];
  for (const wrong of [replaced, "", "wrong"])
    expect(await post({ code: wrong })).toMatchObject({ status: 403 });
  expect(await post({ code: guessed })).toMatchObject({ status: 403 });
});

it("nobody but a client is shown or given anything", async () => {
  for (const [token, status] of [
    ["", 401],
    ["gsv_wrong", 401],
    [bearers.node, 403],
  ] as const)
    for (const body of [{}, { code: "aaaa-aaaa" }]) expect(await post(body, token)).toMatchObject({ status });
  expect(shown).toEqual([]);
  expect(await post({ code: "aaaa-aaaa" })).toMatchObject({ status: 403 });
  expect(await post({}, bearers.client, "/other")).toMatchObject({ status: 426 });
});
