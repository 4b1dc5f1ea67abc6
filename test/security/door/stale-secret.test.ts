import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createWebhookHandler } from "../../../functions/webhook/webhook-handler.ts";
import { type ConfigurationStore, openConfiguration } from "../../../shared/configuration/store.ts";
import { readSession } from "../../../shared/session/sessions.ts";
import type { Secrets } from "../../../shared/world/world.ts";
import { textUpdate } from "../../support/platforms/telegram/telegram-updates.ts";
import { type State, startState } from "../../support/state.ts";

let state: State;
/** The configuration in another process, which changes secrets. */
let configuration: ConfigurationStore;
let deliver: (secret: string, path?: string) => Promise<number>;
let clock: number;
/** Calls of the webhook function to the parameter store, and to the table. */
let parameterReads: number;
let tableReads: number;

beforeEach(async () => {
  vi.spyOn(process.stdout, "write").mockImplementation(() => true);
  state = await startState();
  clock = Date.now();
  parameterReads = 0;
  tableReads = 0;
  const now = () => clock;
  const stored = state.openSecrets("/gsv/test");
  configuration = openConfiguration(state.table, stored, { now });
  await configuration.set("channels.telegram", {
    dmPolicy: "open",
    owners: ["5001002003"],
    accounts: {
      default: { botToken: "1:token", webhookSecret: "the-old", apiBaseUrl: "http://127.0.0.1:1" },
    },
  });
  const secrets: Secrets = {
    ...stored,
    get: (path) => {
      parameterReads++;
      return stored.get(path);
    },
  };
  const table: State["table"] = {
    ...state.table,
    get: (key) => {
      tableReads++;
      return state.table.get(key);
    },
  };
  const handler = createWebhookHandler({ table, secrets, wake: async () => {}, now });
  deliver = async (secret, path = "/telegram/default") => {
    const event = {
      rawPath: path,
      headers: { "x-telegram-bot-api-secret-token": secret },
      requestContext: { http: { method: "POST" } },
      body: JSON.stringify(textUpdate("hello")),
      isBase64Encoded: false,
    };
    const answer = await handler(event as never, { awsRequestId: "r" } as never);
    return (answer as { statusCode: number }).statusCode;
  };
});
afterEach(async () => {
  vi.restoreAllMocks();
  await state.close();
});

const replaceSecret = (secret: string) =>
  configuration.set("channels.telegram.accounts.default.webhookSecret", secret);
const inbox = async () => (await readSession(state.table, "agent:main:main"))?.inbox ?? [];

it("accepts a replaced webhook secret at once, and refuses the old one from then on", async () => {
  expect(await deliver("the-old")).toBe(200);
  await replaceSecret("the-new");
  expect(await deliver("the-new")).toBe(200);
  expect(await deliver("the-old")).toBe(401);
  expect(await inbox()).toHaveLength(2);
});

it("refuses the old secret after five seconds, even if nobody used the new one", async () => {
  expect(await deliver("the-old")).toBe(200);
  await replaceSecret("the-new");
  clock += 5000;
  expect(await deliver("the-old")).toBe(401);
});

it("accepts a secret that was replaced only in the parameter store", async () => {
  expect(await deliver("the-old")).toBe(200);
  await state.openSecrets("/gsv/test").put("channels.telegram.accounts.default.webhookSecret", "by-hand");
  expect(await deliver("by-hand")).toBe(200);
});

it("does not read secrets and the configuration for each request of a flood with wrong secrets", async () => {
  expect(await deliver("the-old")).toBe(200);
  parameterReads = 0;
  tableReads = 0;
  for (let count = 0; count < 500; count++) expect(await deliver(`wrong-${count}`)).toBe(401);
  // One reload: the configuration, and the two secrets of the account.
  expect([tableReads, parameterReads]).toEqual([1, 2]);
  clock += 10_000;
  for (let count = 0; count < 500; count++) await deliver(`wrong-${count}`);
  // A second reload; the configuration has also expired after its five seconds.
  expect([tableReads, parameterReads]).toEqual([3, 4]);
});

it("accepts the right secret during a flood of wrong ones", async () => {
  for (let count = 0; count < 50; count++) await deliver("wrong");
  expect(await deliver("the-old")).toBe(200);
});
