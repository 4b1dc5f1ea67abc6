import { afterAll, beforeAll, expect, it } from "vitest";
import { type Stack, startStack } from "./stack.ts";

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack?.close());

const ask = (rawPath: string) =>
  stack.host.invoke("page", {
    rawPath,
    headers: { "accept-encoding": "br" },
    requestContext: { http: { method: "GET" } },
  }) as Promise<{ statusCode: number; headers: Record<string, string>; body: string }>;

it("the deployed bundle serves the page and the gateway's address, and needs no permission", async () => {
  const page = await ask("/");
  expect(page).toMatchObject({ statusCode: 200, headers: { "content-encoding": "br" } });
  const address = JSON.parse((await ask("/gateway.json")).body) as { ws: string };
  expect(address.ws).toBe(stack.cloud.ws);
  expect(page.headers["content-security-policy"]).toContain(
    `connect-src 'self' ${new URL(address.ws).origin} https://`,
  );
  expect(stack.roles.refusals()).toEqual([]);
});
