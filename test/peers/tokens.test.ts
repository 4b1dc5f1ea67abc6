import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createToken, createTokenVerifier, listTokens, revokeToken } from "../../shared/peers/tokens.ts";
import type { Table } from "../../shared/world/world.ts";
import { standingAdmin } from "../support/standing-admin.ts";
import { observed, type State, startState } from "../support/state.ts";

let state: State;
beforeAll(async () => {
  state = await startState();
});
afterAll(() => state.close());

const minute = 60_000;
const hour = 3_600_000;

let made = 0;

/** A token, a counting table, and a verifier with a clock that the test moves. */
async function given(scopes: Parameters<typeof createToken>[1]["scopes"] = ["client"]) {
  const clock = { now: 10 * hour };
  const created = await createToken(state.table, { name: `laptop ${++made}`, scopes }, clock.now);
  const table = observed(state.table);
  const { verify, isGood } = createTokenVerifier(table, () => clock.now);
  return { clock, created, table, verify, isGood };
}

describe("device tokens", () => {
  it("are accepted with the name and scopes they were created with", async () => {
    const { created, verify } = await given(["node", "client"]);
    expect(await verify(created.token)).toEqual({
      id: created.id,
      name: created.name,
      scopes: ["client", "node"],
    });
  });

  it("of a channel keep their binding, with the account default unless given", async () => {
    for (const accountId of [undefined, "team"]) {
      const purpose = {
        name: `bridge ${accountId}`,
        scopes: ["channel"] as const,
        channel: "slack",
        accountId,
      };
      const { id, token } = await createToken(state.table, purpose, hour);
      const bound = { channel: "slack", accountId: accountId ?? "default" };
      expect(await createTokenVerifier(state.table, () => hour).verify(token)).toMatchObject(bound);
      expect((await listTokens(state.table, hour)).find((one) => one.id === id)).toMatchObject(bound);
    }
  });

  it("are stored without their secret, and listed without its hash", async () => {
    const { created } = await given();
    const secret = created.token.slice(`gsv_${created.id}_`.length);
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const item = await state.table.get({ pk: "TOKEN", sk: created.id });
    expect(JSON.stringify(item)).not.toContain(secret);
    expect(item?.hash).toMatch(/^[0-9a-f]{64}$/);
    const listed = (await listTokens(state.table, hour)).find((token) => token.id === created.id);
    expect(listed).toEqual({ id: created.id, name: created.name, scopes: ["client"], createdAt: 10 * hour });
  });

  it("are listed oldest first", async () => {
    const newer = await createToken(state.table, { name: "newer", scopes: ["client"] }, 2);
    const older = await createToken(state.table, { name: "older", scopes: ["client"] }, 1);
    const ids = (await listTokens(state.table, hour)).map((token) => token.id);
    expect(ids.slice(0, 2)).toEqual([older.id, newer.id]);
  });

  it("with the scope admin are good for 15 minutes, and then neither accepted nor listed", async () => {
    const { clock, created, verify, isGood } = await given(["client", "admin"]);
    const listed = async () => (await listTokens(state.table, clock.now)).some(({ id }) => id === created.id);
    const found = async () => [await verify(created.token), await isGood(created.id), await listed()];
    clock.now += 15 * minute - 1;
    const until = 10 * hour + 15 * minute;
    expect(await found()).toEqual([expect.objectContaining({ until }), true, true]);
    clock.now += 1;
    expect(await found()).toEqual([undefined, false, false]);
    expect(await state.table.get({ pk: "TOKEN", sk: created.id })).toMatchObject({ expiresAt: until / 1000 });
  });

  it("of an admin from an earlier version have no end", async () => {
    const { id, token } = await standingAdmin(state.table, ["admin"], hour);
    const { verify } = createTokenVerifier(state.table, () => 1000 * hour);
    expect(await verify(token)).toEqual({ id, name: expect.any(String), scopes: ["admin"] });
  });

  it("never have the same id or secret", async () => {
    const tokens = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        createToken(state.table, { name: `many ${i}`, scopes: ["client"] }, hour),
      ),
    );
    expect(new Set(tokens.map((token) => token.id)).size).toBe(50);
    expect(new Set(tokens.map((token) => token.token.slice(-43))).size).toBe(50);
  });

  it("are refused with another token's secret, an altered one, or an unknown id", async () => {
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

  it("that were revoked are refused and not listed, also by a function that has just accepted them", async () => {
    const { created, verify, isGood } = await given();
    expect(await verify(created.token)).toBeDefined();
    expect(await isGood(created.id)).toBe(true);
    expect(await revokeToken(state.table, created.id, hour)).toBe(true);
    expect(await verify(created.token)).toBeUndefined();
    expect(await isGood(created.id)).toBe(false);
    const listed = (await listTokens(state.table, hour)).map(({ id }) => id);
    expect(listed).not.toContain(created.id);
  });

  it("can be revoked again, but an unknown token cannot", async () => {
    const { created } = await given();
    expect(await revokeToken(state.table, created.id, hour)).toBe(true);
    expect(await revokeToken(state.table, created.id, hour)).toBe(true);
    expect(await revokeToken(state.table, "z".repeat(10), hour)).toBe(false);
  });

  it("stay revoked when their use is recorded afterwards", async () => {
    const { created } = await given();
    const table = observed(state.table, async () => {
      await revokeToken(state.table, created.id, hour);
    });
    const { verify } = createTokenVerifier(table, Date.now);
    expect(await verify(created.token)).toBeUndefined();
    const item = await state.table.get({ pk: "TOKEN", sk: created.id });
    expect(item).toHaveProperty("revokedAt");
    expect(item).not.toHaveProperty("lastUsedAt");
  });

  it("record their use at most once a minute", async () => {
    const { clock, created, verify } = await given();
    const lastUsedAt = async () => (await state.table.get({ pk: "TOKEN", sk: created.id }))?.lastUsedAt;
    const first = clock.now;
    await verify(created.token);
    expect(await lastUsedAt()).toBe(first);
    clock.now = first + minute - 1;
    await verify(created.token);
    expect(await lastUsedAt()).toBe(first);
    clock.now = first + minute;
    await verify(created.token);
    expect(await lastUsedAt()).toBe(first + minute);
  });

  it("are accepted when recording their use fails", async () => {
    const { created } = await given();
    const table = observed(state.table, () => Promise.reject(new Error("throttled")));
    const { verify } = createTokenVerifier(table, Date.now);
    expect(await verify(created.token)).toBeDefined();
  });

  it("have unique names, ignoring case, until they are revoked", async () => {
    const name = "Phone";
    const first = await createToken(state.table, { name, scopes: ["client"] }, hour);
    const again = () => createToken(state.table, { name: "phone", scopes: ["client"] }, hour);
    await expect(again()).rejects.toMatchObject({
      code: 409,
      message: `name: the token ${first.id} is already named "Phone"; choose another name, or revoke it (\`gsv token revoke ${first.id}\`)`,
    });
    await revokeToken(state.table, first.id, hour);
    expect((await again()).name).toBe("phone");
  });

  it("never share a name, also when created at the same time", async () => {
    const purpose = { name: "raced", scopes: ["client"] as const };
    for (const before of ["put", "query"] as const) {
      let others = 1;
      const raced = async () => {
        if (others-- > 0) await createToken(state.table, purpose, hour).catch(() => {});
      };
      const table: Table = {
        ...state.table,
        async put(...args) {
          if (before === "put") await raced();
          return state.table.put(...args);
        },
        async query(query) {
          const found = await state.table.query(query);
          if (before === "query") await raced();
          return found;
        },
      };
      await createToken(table, purpose, hour).catch(() => {});
      const named = (await listTokens(state.table, hour)).filter((token) => token.name === purpose.name);
      expect(named.length).toBeLessThanOrEqual(1);
      for (const { id } of named) await revokeToken(state.table, id, hour);
    }
  });
});
