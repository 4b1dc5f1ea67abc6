import type { LambdaFunctionURLEvent } from "aws-lambda";
import { afterEach, expect, it } from "vitest";
import { newFolder } from "../../support/run/test-folders.ts";
import { createModelApp } from "./app.ts";
import { handler } from "./handler.ts";

afterEach(() => {
  delete process.env.MODEL_KEY;
});

const ask = async (authorization: string, content: unknown) => {
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content }] });
  const event = {
    headers: { authorization },
    body: Buffer.from(body).toString("base64"),
    isBase64Encoded: true,
  };
  return (await handler(event as unknown as LambdaFunctionURLEvent)) as { statusCode: number; body: string };
};

it("answers callers that have its key, and nobody else", async () => {
  process.env.MODEL_KEY = "right";
  const answered = await ask("Bearer right", "plain r1");
  expect(answered.statusCode).toBe(200);
  expect(answered.body).toContain('"content":"done"');
  expect(answered.body.endsWith("data: [DONE]\n\n")).toBe(true);
  for (const wrong of ["", "Bearer wrong", "Bearer right2"])
    expect((await ask(wrong, "plain r1")).statusCode).toBe(401);
});

it("is a function with an address and a log group, which its stack deletes", async () => {
  const { app, stack } = await createModelApp({
    context: { stage: "trial", modelKey: "key" },
    outdir: newFolder(),
  });
  const { Resources, Outputs } = app.synth().getStackByName("gsv-trial-model").template as {
    Resources: Record<string, { Type: string; DeletionPolicy?: string; Properties: Record<string, unknown> }>;
    Outputs: object;
  };
  expect(stack.stackName).toBe("gsv-trial-model");
  expect(Object.keys(Outputs)).toEqual(["ModelUrl"]);
  const all = Object.values(Resources);
  expect(all.find(({ Type }) => Type === "AWS::Logs::LogGroup")?.DeletionPolicy).toBe("Delete");
  expect(all.find(({ Type }) => Type === "AWS::Lambda::Function")?.Properties.Environment).toEqual({
    Variables: { MODEL_KEY: "key" },
  });
});
