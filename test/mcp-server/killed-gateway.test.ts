import { setTimeout } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { killLeftovers, startGsv } from "../cli/gsv-process.ts";
import { startOpenAiServer } from "../support/models/openai-server.ts";
import { newFolder } from "../support/run/test-folders.ts";
import { until } from "../support/until.ts";
import { send, textOf } from "./programs.ts";

afterEach(killLeftovers);

const ask = { name: "ask", arguments: { message: "what is the answer?", id: "the same" } };

async function startServing(home: string, model: string) {
  const env = { GSV_MODEL_BASE_URL: model, GSV_MODEL: "m" };
  const gateway = startGsv(home, ["dev", "--serve", "--json"], env);
  const [line] = await gateway.prints(/\{.*"mcp".*\}/);
  return { gateway, ...(JSON.parse(line) as { mcp: string; token: string }) };
}

it.each([0, 3, 10, 30, 100])(
  "has the result of a task although the gateway was killed %i ms after the model had answered",
  async (ms) => {
    const model = await startOpenAiServer(() => ({ text: ["forty", "-two"] }));
    const home = newFolder();
    const first = await startServing(home, model.url);
    const { result: task } = await send(first.mcp, first.token, "tools/call", ask);
    await until(() => model.requests.length > 0 && model.active() === 0, "the model has answered");
    await setTimeout(ms);
    first.gateway.child.kill("SIGKILL");
    await first.gateway.ended;
    const { gateway, mcp, token } = await startServing(home, model.url);
    const done = await until(async () => {
      const { result } = await send(mcp, token, "tasks/get", { taskId: task?.taskId });
      return result?.status === "completed" && result;
    });
    expect(textOf(done.result as object)).toBe("forty-two");
    const again = await send(mcp, token, "tools/call", ask);
    const same = await send(mcp, token, "tasks/get", { taskId: again.result?.taskId });
    expect(textOf(same.result?.result as object)).toBe("forty-two");
    gateway.child.kill("SIGTERM");
    await gateway.ended;
    await model.close();
  },
);
