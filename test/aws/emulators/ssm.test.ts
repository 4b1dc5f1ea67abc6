import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  DeleteParameterCommand,
  DeleteParametersCommand,
  GetParameterCommand,
  GetParametersByPathCommand,
  GetParametersCommand,
  ParameterAlreadyExists,
  ParameterNotFound,
  PutParameterCommand,
  SSMClient,
} from "@aws-sdk/client-ssm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Endpoint } from "../../../local/http/http-endpoint.ts";
import type { AccessRequest } from "./access.ts";
import { clientConfig, startSsmAt } from "./support.ts";

let dir: string;
let ssm: Endpoint;
let client: SSMClient;
const asked: AccessRequest[] = [];
let allowed = true;
const start = async () => {
  const authorize = (request: AccessRequest) => {
    asked.push(request);
    return allowed;
  };
  ssm = await startSsmAt(dir, { authorize });
  client = new SSMClient(clientConfig(ssm.url));
};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gsv-ssm-"));
  await start();
});

afterAll(async () => {
  await ssm.close();
  await rm(dir, { recursive: true, force: true });
});

const put = (Name: string, Value: string, more: object = {}) =>
  client.send(new PutParameterCommand({ Name, Value, Type: "SecureString", ...more }));
const read = async (Name: string, WithDecryption = true) =>
  (await client.send(new GetParameterCommand({ Name, WithDecryption }))).Parameter;

describe("SSM parameters", () => {
  it("returns what was put, and overwrites only when told to", async () => {
    expect((await put("/gsv/a", "one")).Version).toBe(1);
    await expect(put("/gsv/a", "two")).rejects.toBeInstanceOf(ParameterAlreadyExists);
    expect((await put("/gsv/a", "two", { Overwrite: true })).Version).toBe(2);
    expect(await read("/gsv/a")).toMatchObject({ Value: "two", Type: "SecureString", Version: 2 });
    expect((await read("/gsv/a"))?.LastModifiedDate).toBeInstanceOf(Date);
  });

  it("gives a secure string in the clear only with decryption", async () => {
    await put("/gsv/secret", "clear");
    expect((await read("/gsv/secret", false))?.Value).not.toContain("clear");
  });

  it("answers ParameterNotFound for get and delete", async () => {
    await expect(read("/gsv/absent")).rejects.toBeInstanceOf(ParameterNotFound);
    const remove = new DeleteParameterCommand({ Name: "/gsv/absent" });
    await expect(client.send(remove)).rejects.toBeInstanceOf(ParameterNotFound);
  });

  it("refuses names and values that Parameter Store refuses", async () => {
    for (const name of ["a/b", "/gsv/ä", "/gsv//a", "/aws/x", `/${"a/".repeat(20)}b`]) {
      await expect(put(name, "v")).rejects.toMatchObject({ name: "ValidationException" });
    }
    await expect(put("/gsv/long", "x".repeat(4097))).rejects.toMatchObject({ name: "ValidationException" });
  });

  it("lists a path page by page, with or without what is below", async () => {
    for (let n = 0; n < 12; n += 1) await put(`/list/deep/p${n}`, "v");
    await put("/list/top", "v");
    await put("/listing", "v");
    const names: (string | undefined)[] = [];
    let NextToken: string | undefined;
    do {
      const page = await client.send(
        new GetParametersByPathCommand({ Path: "/list", Recursive: true, NextToken }),
      );
      expect(page.Parameters?.length).toBeLessThanOrEqual(10);
      names.push(...(page.Parameters ?? []).map(({ Name }) => Name));
      NextToken = page.NextToken;
    } while (NextToken);
    expect(names).toHaveLength(13);
    const flat = await client.send(new GetParametersByPathCommand({ Path: "/list/" }));
    expect(flat.Parameters?.map(({ Name }) => Name)).toEqual(["/list/top"]);
  });

  it("gets and deletes several, naming those that are not there", async () => {
    await put("/several/a", "v");
    const Names = ["/several/a", "/several/b"];
    const got = await client.send(new GetParametersCommand({ Names }));
    expect(got.Parameters?.map(({ Name }) => Name)).toEqual(["/several/a"]);
    expect(got.InvalidParameters).toEqual(["/several/b"]);
    const deleted = await client.send(new DeleteParametersCommand({ Names }));
    expect(deleted.DeletedParameters).toEqual(["/several/a"]);
    await expect(read("/several/a")).rejects.toBeInstanceOf(ParameterNotFound);
  });

  it("asks for access to the parameter and refuses without it", async () => {
    asked.length = 0;
    allowed = false;
    await expect(put("/gsv/denied", "v")).rejects.toMatchObject({ name: "AccessDeniedException" });
    allowed = true;
    const resource = "arn:aws:ssm:us-east-1:000000000000:parameter/gsv/denied";
    expect(asked).toEqual([{ accessKeyId: "LOCALTEST", action: "ssm:PutParameter", resource }]);
    await expect(read("/gsv/denied")).rejects.toBeInstanceOf(ParameterNotFound);
  });

  it("asks for access to all of them where no parameter is named as it should be", async () => {
    [asked.length, allowed] = [0, false];
    const authorization = "AWS4-HMAC-SHA256 Credential=A/1/us-east-1/ssm/aws4_request";
    const headers = { authorization, "x-amz-target": "AmazonSSM.GetParametersByPath" };
    const body = JSON.stringify({ Name: 7, Path: "/", Recursive: true });
    expect(await (await fetch(ssm.url, { method: "POST", headers, body })).text()).toContain("AccessDenied");
    allowed = true;
    expect(asked).toMatchObject([{ resource: "arn:aws:ssm:us-east-1:000000000000:parameter/*" }]);
  });

  it("answers garbage and unsigned requests with an error", async () => {
    const headers = { "x-amz-target": "AmazonSSM.GetParameter" };
    expect(await (await fetch(ssm.url, { method: "POST", headers, body: "{}" })).text()).toContain("Missing");
    expect((await fetch(ssm.url)).status).toBe(400);
    const authorization = "AWS4-HMAC-SHA256 Credential=A/1/us-east-1/ssm/aws4_request";
    for (const body of ["", "[]", "{", '{"Name":7}']) {
      const answer = await fetch(ssm.url, { method: "POST", headers: { ...headers, authorization }, body });
      expect(answer.status).toBe(400);
    }
  });

  it("keeps everything through a restart, in a file only its owner reads", async () => {
    await Promise.all(Array.from({ length: 20 }, (_, n) => put(`/kept/p${n}`, `v${n}`)));
    expect((await stat(join(dir, "ssm.json"))).mode & 0o777).toBe(0o600);
    await ssm.close();
    await start();
    for (let n = 0; n < 20; n += 1) expect((await read(`/kept/p${n}`))?.Value).toBe(`v${n}`);
  });
});
