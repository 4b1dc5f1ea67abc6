import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import {
  assistant,
  type FakeGateway,
  type FakeMethod,
  type FakeRequest,
  startFakeGateway,
} from "../../fake-gateway.ts";
import { type GsvOptions, type GsvRun, gsv } from "../../run-gsv.ts";

let gateway: FakeGateway;
const sessionKey = "agent:main:main";
const run = (args: string[], options: GsvOptions = {}): Promise<GsvRun> =>
  gsv(["client", ...args], { ...options, env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" } });
const sent = () => gateway.requests.map(({ params }) => params as { message: string; runId: string });
const arrived = (count: number) => expect.poll(() => gateway.requests.length).toBe(count);
/** Sends this process the signal of Ctrl-C. */
const interrupt = () => process.emit("SIGINT");

/** Runs continue until they are stopped. `stop` answers "/stop". */
function runsFor(stop: FakeMethod): void {
  gateway.methods["chat.send"] = (request) => {
    const { message, runId } = request.params;
    return message.startsWith("/stop") ? stop(request) : { status: "started", runId };
  };
}
const stopped: FakeMethod = ({ params: { message } }) => ({
  ...{ status: "command", command: "stop" },
  response: `Stopped run ${message.split(" ")[1]}, cancelled 1 pending tool(s).`,
});
const notInProgress: FakeMethod = ({ params: { message } }) => ({
  ...{ status: "command", command: "stop" },
  response: `Run ${message.split(" ")[1]} is not in progress.`,
});
/** Sends the answer to the first message after the current request. */
function answerLater({ emit }: FakeRequest): void {
  const [{ runId } = { runId: "" }] = sent();
  setTimeout(() => emit("chat", { runId, sessionKey, state: "final", message: assistant("after all") }), 20);
}

/** The outcome of a message when the user leaves because the gateway does not answer the stop. */
async function interruptedTwice(args: string[]): Promise<GsvRun> {
  runsFor(() => new Promise(() => {}));
  const ended = run(args);
  await arrived(1);
  interrupt();
  await arrived(2);
  interrupt();
  return ended;
}

beforeEach(async () => {
  gateway = await startFakeGateway({});
});
afterEach(() => gateway.close());

describe("Ctrl-C in gsv client with a message", () => {
  it("stops only its own run, reports that, and exits with 130", async () => {
    runsFor(stopped);
    const ended = run(["one"]);
    await arrived(1);
    interrupt();
    expect(await ended).toEqual({ code: 130, stdout: "", stderr: "gsv: the run was stopped\n" });
    expect(sent()[1]?.message).toBe(`/stop ${sent()[0]?.runId}`);
    expect(process.listenerCount("SIGINT")).toBe(0);
  });

  it("says in the result of --json that it stopped", async () => {
    runsFor(stopped);
    const ended = run(["one", "--json"]);
    await arrived(1);
    interrupt();
    const { code, stdout } = await ended;
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toEqual({
      ...{
        type: "result",
        message: "one",
        runId: sent()[0]?.runId,
        status: "stopped",
        text: "",
        stopped: true,
      },
    });
  });

  it("reports that nothing is stopped when the message is queued, and keeps waiting", async () => {
    runsFor((request) => {
      answerLater(request);
      return notInProgress(request);
    });
    const ended = run(["one"]);
    await arrived(1);
    interrupt();
    expect(await ended).toEqual({
      code: 130,
      stdout: "after all\n",
      stderr: "gsv: the message is still queued; nothing was stopped (Ctrl-C again leaves)\n",
    });
  });

  it("withdraws a queued message", async () => {
    runsFor(({ params: { message } }) => ({
      ...{ status: "command", command: "stop" },
      response: `Stopped before they began: ${message.slice(6)}.`,
    }));
    const ended = run(["one"]);
    await arrived(1);
    interrupt();
    expect(await ended).toEqual({
      code: 130,
      stdout: "",
      stderr: "gsv: the message was removed from the queue before its run began\n",
    });
  });

  it("leaves at the second Ctrl-C, and reports that the run continues", async () => {
    expect(await interruptedTwice(["one"])).toEqual({
      code: 130,
      stdout: "",
      stderr: "gsv: left; the run continues, and `gsv session preview` shows its answer\n",
    });
  });

  it("says in the result of --json that it left", async () => {
    const { stdout } = await interruptedTwice(["one", "--json"]);
    expect(JSON.parse(stdout)).toEqual({
      ...{ type: "result", message: "one", runId: sent()[0]?.runId, status: "left", text: "" },
    });
  });

  it("reports why a stop fails, and keeps waiting", async () => {
    runsFor((request) => {
      answerLater(request);
      throw new PeerError(503, "the table does not answer");
    });
    const ended = run(["one"]);
    await arrived(1);
    interrupt();
    expect(await ended).toEqual({
      code: 130,
      stdout: "after all\n",
      stderr: "gsv: not stopped: the table does not answer (Ctrl-C again leaves)\n",
    });
  });
});

describe("Ctrl-C in gsv client --lines", () => {
  it("stops the run in progress, and sends no further line", async () => {
    runsFor(stopped);
    const ended = run(["--lines"], { input: "one\ntwo\nthree\n" });
    await arrived(1);
    interrupt();
    expect(await ended).toEqual({ code: 130, stdout: "", stderr: "gsv: the run was stopped\n" });
    expect(sent().map(({ message }) => message)).toEqual(["one", expect.stringMatching(/^\/stop /)]);
  });

  it("leaves while it waits for a line, without a request", async () => {
    const ended = run(["--lines"], { endless: true });
    await expect.poll(() => process.listenerCount("SIGINT")).toBe(1);
    interrupt();
    expect(await ended).toEqual({ code: 130, stdout: "", stderr: "" });
    expect(sent()).toEqual([]);
  });
});
