import { InvokeCommand, LambdaClient, ResourceNotFoundException } from "@aws-sdk/client-lambda";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Endpoint } from "../../../../local/http/http-endpoint.ts";
import {
  type AsyncInvocationOptions,
  type AsyncInvocations,
  openAsyncInvocations,
} from "../../../../local/lambda/async-invocations.ts";
import { openDeferredHost } from "../../../../local/lambda/deferred-host.ts";
import { FunctionError, type FunctionHost } from "../../../../local/lambda/host.ts";
import { until } from "../../../support/until.ts";
import type { AccessRequest } from "../access.ts";
import { clientConfig } from "../support.ts";
import { startLambda } from "./lambda.ts";

let lambda: Endpoint;
let client: LambdaClient;
let invocations: AsyncInvocations;
let calls: unknown[];
let failures: boolean[];
const asked: AccessRequest[] = [];

async function start(
  handler: (event: unknown) => unknown,
  more: Partial<AsyncInvocationOptions> = {},
  authorize?: (request: AccessRequest) => boolean,
) {
  calls = [];
  failures = [];
  const host: FunctionHost = {
    functions: ["agent"],
    async invoke(_name, event) {
      calls.push(event);
      return handler(event);
    },
    close: async () => undefined,
  };
  const onFailure = (_name: string, _event: unknown, _error: unknown, last: boolean) => failures.push(last);
  invocations = openAsyncInvocations({ host, retryDelaysMs: [1, 1], onFailure, ...more });
  lambda = await startLambda({ host, invocations, authorize });
  client = new LambdaClient(clientConfig(lambda.url));
}

afterEach(async () => {
  invocations.close();
  await lambda.close();
});

const invoke = (input: object) =>
  client.send(
    new InvokeCommand({ FunctionName: "agent", Payload: Buffer.from('{"sessionKey":"a"}'), ...input }),
  );
/** Room for one function at a time; `free` ends the one that runs. */
async function startFull() {
  let free = () => {};
  const host = openDeferredHost(1);
  host.set({
    functions: ["agent"],
    async invoke(_name, event) {
      calls.push(event);
      if (calls.length === 1) await new Promise<void>((resolve) => (free = resolve));
    },
    close: async () => undefined,
  });
  calls = [];
  failures = [];
  invocations = openAsyncInvocations({ host, onFailure: () => failures.push(true) });
  lambda = await startLambda({ host, invocations });
  client = new LambdaClient({ ...clientConfig(lambda.url), maxAttempts: 1 });
  await invoke({ InvocationType: "Event" });
  await until(() => calls.length === 1);
  return () => free();
}

const fail = () => {
  throw new FunctionError("Error", "as told");
};

describe("Lambda's Invoke", () => {
  it("returns the result of a synchronous invocation", async () => {
    await start((event) => ({ event }));
    const answer = await invoke({});
    expect(answer).toMatchObject({ StatusCode: 200, ExecutedVersion: "$LATEST" });
    expect(answer.FunctionError).toBeUndefined();
    expect(JSON.parse(answer.Payload?.transformToString() ?? "")).toEqual({ event: { sessionKey: "a" } });
  });

  it("reports a failed synchronous invocation in the payload", async () => {
    await start(fail);
    const answer = await invoke({});
    expect(answer).toMatchObject({ StatusCode: 200, FunctionError: "Unhandled" });
    expect(JSON.parse(answer.Payload?.transformToString() ?? "")).toMatchObject({ errorMessage: "as told" });
  });

  it("accepts an event before it has run", async () => {
    let finish = () => {};
    await start(() => new Promise<void>((resolve) => (finish = resolve)));
    expect((await invoke({ InvocationType: "Event" })).StatusCode).toBe(202);
    await until(() => calls.length === 1);
    finish();
  });

  it("takes a full ARN, a partial ARN and a qualifier", async () => {
    await start(() => null);
    for (const FunctionName of [
      "arn:aws:lambda:us-east-1:000000000000:function:agent",
      "000000000000:function:agent",
      "agent:live",
    ]) {
      expect((await invoke({ FunctionName })).StatusCode).toBe(200);
    }
  });

  it("tries a failing event three times and then gives it up", async () => {
    await start(fail);
    await invoke({ InvocationType: "Event" });
    await until(() => failures.length === 3);
    expect(failures).toEqual([false, false, true]);
    expect(calls).toHaveLength(3);
  });

  it("stops trying when an attempt succeeds", async () => {
    await start(() => (calls.length < 2 ? fail() : null));
    expect(await invocations.invoke("agent", {})).toBe("handled");
    expect(calls).toHaveLength(2);
  });

  it("delivers twice and late when told to", async () => {
    let released = false;
    await start(() => null, {
      duplicate: () => true,
      delayMs: () => {
        released = true;
        return 20;
      },
    });
    await invoke({ InvocationType: "Event" });
    expect(released).toBe(true);
    await until(() => calls.length === 2);
  });

  it("answers a synchronous invocation with 429 while the account runs as many as it may", async () => {
    const free = await startFull();
    await expect(invoke({})).rejects.toMatchObject({
      name: "TooManyRequestsException",
      $metadata: { httpStatusCode: 429 },
    });
    free();
    await until(async () => (await invoke({}).catch(() => undefined))?.StatusCode === 200);
  });

  it("keeps an event that it has no room for, and counts no attempt for it", async () => {
    const free = await startFull();
    vi.useFakeTimers({ toFake: ["setTimeout", "Date"] });
    try {
      const waiting = invocations.invoke("agent", { sessionKey: "waits" });
      // Tried again after 1, 2, 4 … seconds, and after the longest pause of five minutes.
      await vi.advanceTimersByTimeAsync(3_600_000);
      expect(calls).toHaveLength(1);
      free();
      await vi.advanceTimersByTimeAsync(300_000);
      expect(await waiting).toBe("handled");
    } finally {
      vi.useRealTimers();
    }
    expect(calls.at(-1)).toEqual({ sessionKey: "waits" });
    expect(failures).toEqual([]);
  });

  it("gives an event up that it had no room for in six hours", async () => {
    await startFull();
    vi.useFakeTimers({ toFake: ["setTimeout", "Date"] });
    try {
      const waiting = invocations.invoke("agent", {});
      await vi.advanceTimersByTimeAsync(7 * 3_600_000);
      expect(await waiting).toBe("dead");
    } finally {
      vi.useRealTimers();
    }
    expect(failures).toEqual([true]);
  });

  it("tries a failed event again after one and two minutes", async () => {
    await start(fail, { retryDelaysMs: undefined });
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    try {
      const outcome = invocations.invoke("agent", {});
      for (const [ms, attempts] of [
        [59_999, 1],
        [1, 2],
        [119_999, 2],
        [1, 3],
      ] as const) {
        await vi.advanceTimersByTimeAsync(ms);
        expect(calls).toHaveLength(attempts);
      }
      expect(await outcome).toBe("dead");
    } finally {
      vi.useRealTimers();
    }
  });

  it("runs nothing on a dry run", async () => {
    await start(() => null);
    expect((await invoke({ InvocationType: "DryRun" })).StatusCode).toBe(204);
    expect(calls).toEqual([]);
  });

  it("refuses an unknown function, a payload that is not JSON, and an event above 1 MB", async () => {
    await start(() => null);
    await expect(invoke({ FunctionName: "other" })).rejects.toBeInstanceOf(ResourceNotFoundException);
    await expect(invoke({ Payload: Buffer.from("{") })).rejects.toMatchObject({
      name: "InvalidRequestContentException",
    });
    const Payload = Buffer.from(JSON.stringify("x".repeat(1024 * 1024)));
    await expect(invoke({ InvocationType: "Event", Payload })).rejects.toMatchObject({
      name: "RequestTooLargeException",
    });
    expect((await invoke({ Payload })).StatusCode).toBe(200);
  });

  it("asks for access to the function and refuses without it", async () => {
    await start(
      () => null,
      {},
      (request) => asked.push(request) === 0,
    );
    await expect(invoke({})).rejects.toMatchObject({ name: "AccessDeniedException" });
    const resource = "arn:aws:lambda:us-east-1:000000000000:function:agent";
    expect(asked).toEqual([{ accessKeyId: "LOCALTEST", action: "lambda:InvokeFunction", resource }]);
    expect(calls).toEqual([]);
  });

  it("answers unsigned requests and other paths with an error", async () => {
    await start(() => null);
    const url = `${lambda.url}/2015-03-31/functions/agent/invocations`;
    expect((await fetch(url, { method: "POST" })).status).toBe(403);
    expect((await fetch(`${lambda.url}/%zz`)).status).toBe(404);
    expect(
      (await fetch(`${lambda.url}/2015-03-31/functions/%zz/invocations`, { method: "POST" })).status,
    ).toBe(403);
  });
});
