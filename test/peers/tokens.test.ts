import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createToken, createTokenVerifier, listTokens, revokeToken } from "../../shared/peers/tokens.ts";
import { observed, type State, startState } from "../support/state.ts";

let state: State;
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

const hour = 3_600_000;

/** A token, a counting table and a verifier with a clock that the test moves. */
async function given(scopes: Parameters<typeof createToken>[1]["scopes"] = ["client"]) {
  const clock = { now: 10 * hour };
  const created = await createToken(state.table, { name: "laptop", scopes }, clock.now);
  const table = observed(state.table);
  const { verify } = createTokenVerifier(table, { now: () => clock.now });
  return { clock, created, table, verify };
}

describe("device tokens", () => {
  it("are accepted with the name and scopes they were created with", async () => {
    const { created, verify } = await given(["node", "client"]);
    expect(await verify(created.token)).toEqual({
      id: created.id,
      name: "laptop",
      scopes: ["client", "node"],
    });
  });

  it("are stored without their secret, and listed without its hash", async () => {
    const { created } = await given();
    const secret = created.token.slice(`gsv_${created.id}_`.length);
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const item = await state.table.get({ pk: "TOKEN", sk: created.id });
    expect(JSON.stringify(item)).not.toContain(secret);
    expect(item?.hash).toMatch(/^[0-9a-f]{64}$/);
    const listed = (await listTokens(state.table)).find((token) => token.id === created.id);
    expect(listed).toEqual({ id: created.id, name: "laptop", scopes: ["client"], createdAt: 10 * hour });
  });

  it("are listed oldest first", async () => {
    const newer = await createToken(state.table, { name: "newer", scopes: ["client"] }, 2);
    const older = await createToken(state.table, { name: "older", scopes: ["client"] }, 1);
    const ids = (await listTokens(state.table)).map((token) => token.id);
    expect(ids.slice(0, 2)).toEqual([older.id, newer.id]);
  });

  it("never repeat an id or a secret", async () => {
    const tokens = await Promise.all(
      Array.from({ length: 50 }, () => createToken(state.table, { name: "many", scopes: ["client"] }, hour)),
    );
    expect(new Set(tokens.map((token) => token.id)).size).toBe(50);
    expect(new Set(tokens.map((token) => token.token.slice(-43))).size).toBe(50);
  });

  it("are refused with another's secret, an altered one, or an unknown id", async () => {
    const { created, verify } = await given();
    const other = await createToken(state.table, { name: "other", scopes: ["admin"] }, hour);
    const last = created.token.at(-2) === "A" ? "B" : "A";
    expect(await verify(`gsv_${created.id}_${other.token.slice(-43)}`)).toBeUndefined();
    expect(await verify(created.token.slice(0, -2) + last + created.token.at(-1))).toBeUndefined();
    expect(await verify(`gsv_${"z".repeat(10)}_${created.token.slice(-43)}`)).toBeUndefined();
    expect(await verify(created.token)).toBeDefined();
  });

  it("that are malformed are refused without a read", async () => {
    const { created, table, verify } = await given();
    const malformed = [
      "",
      "gsv",
      "gsv__",
      `${created.token}x`,
      ` ${created.token}`,
      created.token.slice(0, -1),
    ];
    malformed.push(created.token.toUpperCase(), `Bearer ${created.token}`, "x".repeat(100_000));
    for (const token of malformed) expect(await verify(token)).toBeUndefined();
    expect(table.reads).toBe(0);
  });

  it("are read once in five seconds, and not at all longer than that after they were revoked", async () => {
    const { clock, created, table, verify } = await given();
    await verify(created.token);
    expect(await revokeToken(state.table, created.id)).toBe(true);
    clock.now += 4999;
    expect(await verify(created.token)).toBeDefined();
    expect(table.reads).toBe(1);
    clock.now += 1;
    expect(await verify(created.token)).toBeUndefined();
    expect(await verify(created.token)).toBeUndefined();
  });

  it("that were revoked are refused by a function that has not seen them", async () => {
    const { created, verify } = await given();
    await revokeToken(state.table, created.id);
    expect(await verify(created.token)).toBeUndefined();
    expect(await revokeToken(state.table, created.id)).toBe(false);
  });

  it("do not come back when their use is noted after they were revoked", async () => {
    const { created } = await given();
    const table = observed(state.table, async () => {
      await revokeToken(state.table, created.id);
    });
    const { verify } = createTokenVerifier(table);
    expect(await verify(created.token)).toBeUndefined();
    expect(await state.table.get({ pk: "TOKEN", sk: created.id })).toBeUndefined();
  });

  it("note their use at most once an hour", async () => {
    const { clock, created, verify } = await given();
    const lastUsedAt = async () => (await state.table.get({ pk: "TOKEN", sk: created.id }))?.lastUsedAt;
    const first = clock.now;
    await verify(created.token);
    expect(await lastUsedAt()).toBe(first);
    clock.now = first + hour - 1;
    await verify(created.token);
    expect(await lastUsedAt()).toBe(first);
    clock.now = first + hour;
    await verify(created.token);
    expect(await lastUsedAt()).toBe(first + hour);
  });

  it("are accepted although noting their use fails", async () => {
    const { created } = await given();
    const table = observed(state.table, () => Promise.reject(new Error("throttled")));
    const { verify } = createTokenVerifier(table);
    expect(await verify(created.token)).toBeDefined();
  });
});
