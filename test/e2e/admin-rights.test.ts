import { join } from "node:path";
import { PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { readConfigFile } from "../../cli/app/config-file.ts";
import { methodTable } from "../../functions/socket/methods/methods.ts";
import { administer } from "../cli/administer.ts";
import { gsv, interruptHere, startHere } from "../cli/run-gsv.ts";
import { openClient } from "../support/peer.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { type Stack, startStack } from "./stack.ts";

const methodsOf = (wanted: "admin" | "approve") =>
  Object.entries(methodTable).flatMap(([method, { scope }]) => (scope === wanted ? [method] : []));
const adminMethods = methodsOf("admin");
const approveMethods = methodsOf("approve").sort();

/** A gateway, the folder of a user who has run `gsv init` for it, and how this user gets admin rights. */
interface Place {
  url: string;
  home: string;
  env: Record<string, string>;
  administer(): Promise<string>;
}

const tokenOf = async (home: string) =>
  (await readConfigFile(join(home, ".config/gsv/config.toml"))).gateway?.token ?? "";

async function init(home: string, url: string, token: string): Promise<void> {
  const run = await gsv(["init", "--url", url, "--token", token], { cwd: home });
  expect(run, run.stderr).toMatchObject({ code: 0 });
}

async function localPlace(): Promise<Place> {
  const [cwd, home] = [newFolder(), newFolder()];
  const serving = startHere(["dev", "--serve", "--json"], { cwd });
  const [line] = await serving.prints(/^\{.*\}$/m);
  const { ws: url, token } = JSON.parse(line);
  await init(home, url, token);
  return { url, home, env: {}, administer: () => administer(home, serving) };
}

let stack: Stack | undefined;
/** The emulated AWS with the stage `home`, whose first token had every scope, as earlier versions made it. */
async function deployedPlace(): Promise<Place> {
  stack = await startStack();
  const { ws: url, ssm, dynamodb, table } = stack.cloud;
  const parameters = { "websocket-url": url, "webhook-url": "-", "table-name": table, "bucket-name": "-" };
  const region = { region: "us-east-1", credentials: { accessKeyId: "me", secretAccessKey: "mine" } };
  for (const [name, Value] of Object.entries(parameters))
    await new SSMClient({ endpoint: ssm, ...region }).send(
      new PutParameterCommand({ Name: `/gsv/home/${name}`, Value, Type: "String" }),
    );
  const home = newFolder();
  await init(home, url, stack.token);
  const account = { AWS_ENDPOINT_URL_SSM: ssm, AWS_ENDPOINT_URL_DYNAMODB: dynamodb, AWS_REGION: "us-east-1" };
  const env = { ...account, AWS_ACCESS_KEY_ID: "me", AWS_SECRET_ACCESS_KEY: "mine" };
  return {
    ...{ url, home, env },
    async administer() {
      Object.assign(process.env, env);
      return (await gsv(["admin", "--stage", "home"], { cwd: home, env })).stdout.trim();
    },
  };
}

const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
});
afterAll(async () => {
  await interruptHere();
  await stack?.close();
});

describe.each([
  ["on this machine", localPlace],
  ["on AWS", deployedPlace],
])("with what `gsv init` stores for a gateway %s", (_where, open) => {
  let place: Place;
  beforeAll(async () => {
    place = await open();
  });

  it("a shell gets 403 from every admin method", async () => {
    const peer = await openClient(place.url, await tokenOf(place.home), "shell");
    expect(adminMethods.length).toBeGreaterThanOrEqual(16);
    for (const method of adminMethods) {
      const { ok, error } = await peer.request(method, {});
      expect({ method, ok, code: error?.code }).toEqual({ method, ok: false, code: 403 });
    }
    peer.close();
  });

  it("a shell may answer requests, revoke grants and raise budgets, which needs the scope approve", async () => {
    const owner = await openClient(place.url, await place.administer(), "maker");
    const made = await owner.call<{ token: string }>("token.create", { name: "reader", scopes: ["client"] });
    const shell = await openClient(place.url, await tokenOf(place.home), "shell");
    const reader = await openClient(place.url, made.token, "reader");
    const hash = "0".repeat(64);
    const calls = {
      "approval.answer": { params: { id: "a".repeat(16), hash, decision: "allow" }, code: 404 },
      "budget.raise": { params: { id: "none", usd: 1, raiseId: "once" }, code: 404 },
      "grant.revoke": { params: { id: "none" }, code: undefined },
    };
    expect(Object.keys(calls).sort()).toEqual(approveMethods);
    for (const [method, { params, code }] of Object.entries(calls)) {
      expect((await reader.request(method, params)).error, method).toMatchObject({ code: 403 });
      expect([method, (await shell.request(method, params)).error?.code]).toEqual([method, code]);
    }
    for (const peer of [owner, shell, reader]) await peer.close();
  });

  it("a command without a terminal says how to get admin rights", async () => {
    const run = await gsv(["token", "list"], { cwd: place.home });
    expect(run.code).toBe(1);
    expect(run.stderr).toBe(
      "gsv: token.list needs admin rights; run `export GSV_ADMIN_TOKEN=$(gsv admin)`, then this command again\n",
    );
  });

  it("`gsv admin` gives the rights to every admin method for 15 minutes, and stores nothing", async () => {
    const stored = await tokenOf(place.home);
    const token = await place.administer();
    const peer = await openClient(place.url, token, "owner");
    for (const method of adminMethods)
      expect((await peer.request(method, {})).error?.code, method).not.toBe(403);
    peer.close();
    const listed = await gsv(["token", "list", "--json"], {
      cwd: place.home,
      env: { GSV_ADMIN_TOKEN: token },
    });
    const { tokens } = JSON.parse(listed.stdout);
    const [, id] = token.split("_");
    const minted = tokens.find((one: { id: string }) => one.id === id);
    expect(minted.until - minted.createdAt).toBe(15 * 60_000);
    expect(await tokenOf(place.home)).toBe(stored);
    expect((await gsv(["token", "list"], { cwd: place.home })).code).toBe(1);
  });
});
