import { afterEach, describe, expect, it } from "vitest";
import { needsAgent } from "../../../shared/session/state.ts";
import { type McpTestServer, startMcpServer } from "../../support/mcp/mcp-server.ts";
import { seededRandom } from "../../support/random.ts";
import { immortal } from "../bench.ts";
import {
  approving,
  fire,
  invoke,
  now,
  on,
  otherSession,
  results,
  runOf,
  say,
  useApprovalBench,
} from "../tools/approval-bench.ts";

useApprovalBench();

let server: McpTestServer;
afterEach(async () => {
  on.bench.configuration = { ...on.bench.configuration, mcp: { servers: {} } };
  await server.close();
});

/** Tasks of a server: by their id, when they were begun and for what. Each lasts `lastsMs` of virtual time. */
async function serve(lastsMs: number, pollIntervalMs: number) {
  const tasks = new Map<string, { of: string; end: number }>();
  const answered: string[] = [];
  const task = (taskId: string) => ({
    taskId,
    ttlMs: null,
    pollIntervalMs,
    createdAt: "",
    lastUpdatedAt: "",
  });
  server = await startMcpServer({
    tools: [{ name: "build", inputSchema: { type: "object" } }],
    ttlMs: 10 * 86_400_000,
    call: (_name, { of }) => {
      const id = `t${tasks.size}`;
      tasks.set(id, { of: String(of), end: now() + lastsMs });
      return { ...task(id), resultType: "task", status: "working" };
    },
    methods: {
      "tasks/get": ({ taskId }) => {
        const { of = "", end = 0 } = tasks.get(String(taskId)) ?? {};
        const done = now() >= end;
        if (done) answered.push(of);
        const result = { content: [{ type: "text", text: `built ${of}` }] };
        const state = done ? { status: "completed", result } : { status: "working" };
        return { ...task(String(taskId)), ...state, resultType: "complete" };
      },
    },
  });
  approving({});
  on.bench.configuration = { ...on.bench.configuration, mcp: { servers: { ci: { url: server.url } } } };
  return { tasks, answered };
}

const isOver = async () => {
  const { run, inbox } = await on.bench.state(on.sessionKey);
  return run === undefined && inbox.length === 0;
};

const build = (...names: string[]) => names.map((of) => ({ name: "ci__build", arguments: { of } }));

describe("a task of six hours", () => {
  it("costs one invocation each time that its server is asked, and none between", async () => {
    const { tasks } = await serve(6 * 3_600_000, 600_000);
    on.replies = [{ toolCalls: build("it") }];
    await say("go");
    const begunAt = now();
    await invoke();
    let polls = 0;
    for (; (await runOf())?.phase === "tools"; polls++) {
      const pollAt = Number(
        (await runOf())?.pending[Object.keys((await runOf())?.pending ?? {})[0] ?? ""]?.remote?.pollAt,
      );
      const waiting = await on.bench.state(on.sessionKey);
      expect(waiting.owner).toBeUndefined();
      expect([needsAgent(waiting, pollAt - 1), needsAgent(waiting, pollAt)]).toEqual([false, true]);
      on.woken.length = 0;
      await fire("task-poll");
      expect(on.woken).toEqual([on.sessionKey]);
      await invoke();
    }
    const asked = server.requests.filter(({ method }) => method === "tasks/get").length;
    expect(asked).toBe(polls);
    expect(polls).toBeLessThanOrEqual(36);
    expect(now() - begunAt).toBeGreaterThanOrEqual(6 * 3_600_000);
    expect(tasks.size).toBe(1);
    expect(results(await on.bench.live(on.sessionKey))).toEqual(["built it"]);
  });
});

describe("tasks whose agent is killed again and again", () => {
  const count = Number(process.env.TASKS ?? 100);
  const perSession = 10;
  const killsPerSession = 3;

  it(`are begun at most once and delivered exactly once: ${count} tasks, ${(count / perSession) * killsPerSession} kills`, async () => {
    const { tasks, answered } = await serve(3_600_000, 600_000);
    const random = seededRandom(7);
    let kills = 0;
    let unknown = 0;
    for (let session = 0; session < count / perSession; session++) {
      otherSession();
      const names = Array.from({ length: perSession }, (_, i) => `${session}/${i}`);
      await say("go");
      for (let left = killsPerSession; left > 0; ) {
        const life = immortal();
        // A model that is called again gives the same reply, until it was committed.
        const hasCalled = (await on.bench.live(on.sessionKey)).some(({ role }) => role === "assistant");
        on.replies = hasCalled ? [] : [{ toolCalls: build(...names) }];
        life.left = 3 + random.integer(40);
        await invoke(life);
        if (life.left <= 0) {
          kills++;
          left--;
        } else if (await isOver()) break;
        else on.bench.later += 300_000;
      }
      const isCommitted = (await on.bench.live(on.sessionKey)).some(({ role }) => role === "assistant");
      if (!isCommitted) on.replies = [{ toolCalls: build(...names) }];
      for (let tries = 0; !(await isOver()); tries++) {
        expect(tries).toBeLessThan(60);
        on.bench.later += 300_000;
        await invoke();
      }
      const said = results(await on.bench.live(on.sessionKey));
      expect(said).toHaveLength(perSession);
      for (const [i, text] of said.entries()) {
        if (text === "Error: interrupted, outcome unknown") unknown++;
        else expect(text).toBe(`built ${names[i]}`);
      }
    }
    const begun = [...tasks.values()].map(({ of }) => of);
    expect(new Set(begun).size).toBe(begun.length);
    expect(kills).toBeGreaterThan(0);
    expect(unknown).toBeLessThan(count / 2);
    process.stderr.write(
      `${JSON.stringify({ tasks: count, kills, unknown, begun: begun.length, answered: answered.length })}\n`,
    );
  }, 600_000);
});
