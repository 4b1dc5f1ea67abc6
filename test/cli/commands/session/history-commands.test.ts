import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { moment } from "../../../../cli/app/columns.ts";
import { PeerError } from "../../../../shared/protocol/errors.ts";
import { assistant, type FakeGateway, type FakeMethod, startFakeGateway } from "../../fake-gateway.ts";
import { gsv } from "../../run-gsv.ts";

let gateway: FakeGateway;
const run = (...args: string[]) => gsv(args, { env: { GSV_URL: gateway.url, GSV_TOKEN: "good-token" } });
const answers = (table: Record<string, FakeMethod>) => {
  gateway.methods = table;
};

beforeEach(async () => {
  gateway = await startFakeGateway({});
});
afterEach(() => gateway.close());

const user = (content: string) => ({ role: "user", content, timestamp: 1 });

describe("gsv session history", () => {
  const history = {
    sessionKey: "agent:main:main",
    currentSessionId: "c",
    previousSessionIds: ["a", "b"],
    previous: [{ sessionId: "a" }, { sessionId: "b", lastActiveAt: Date.UTC(2026, 0, 2, 12) }],
  };

  it("lists a session's conversations with their last activity, oldest first", async () => {
    answers({ "session.history": () => history });
    expect((await run("session", "history")).stdout).toMatch(
      /^a\nb {2}2026-01-02 \d\d:\d\d.*\nc {2}\(current\)\n$/,
    );
    expect(gateway.requests).toEqual([
      { method: "session.history", params: { sessionKey: "agent:main:main" } },
    ]);
  });

  it("prints the gateway's answer with --json", async () => {
    answers({ "session.history": () => history });
    expect(JSON.parse((await run("session", "history", "agent:main:main", "--json")).stdout)).toEqual(
      history,
    );
  });
});

describe("gsv session transcript", () => {
  /** Three pages; the message `large` is split into two pieces. */
  const large = user("x".repeat(100));
  const text = JSON.stringify(large);
  const pages: Record<string, object> = {
    "": { messages: [user("first"), assistant("second")], next: "1.0.2.0" },
    "1.0.2.0": { messages: [], piece: { text: text.slice(0, 60), isLast: false }, next: "1.0.2.60" },
    "1.0.2.60": { messages: [], piece: { text: text.slice(60), isLast: true }, next: "1.1.0.0" },
    "1.1.0.0": { messages: [user("last")] },
  };
  const transcript: FakeMethod = ({ params }) => ({
    sessionId: "id",
    parts: [],
    ...pages[params.next ?? ""],
  });

  it("prints every message of every page", async () => {
    answers({ "session.transcript": transcript });
    const { stdout } = await run("session", "transcript", "id");
    const time = moment(1);
    expect(stdout).toBe(
      `${time}  user\n  first\n\n${time}  assistant\n  second\n\n${time}  user\n  ${"x".repeat(100)}\n\n${time}  user\n  last\n`,
    );
  });

  it("prints one message per line with --json", async () => {
    answers({ "session.transcript": transcript });
    const { stdout } = await run("session", "transcript", "id", "--json");
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toEqual([user("first"), assistant("second"), large, user("last")]);
  });

  it.each([
    [[], { sessionKey: "agent:main:main" }],
    [["--session", "agent:work:main"], { sessionKey: "agent:work:main" }],
    [["--agent", "work"], { agentId: "work" }],
  ])("looks in the place of its options: %j", async (options, where) => {
    answers({ "session.transcript": () => ({ sessionId: "id", parts: [], messages: [] }) });
    const { code, stdout, stderr } = await run("session", "transcript", "id", ...options);
    expect([code, stdout, stderr]).toEqual([0, "", "id: no messages\n"]);
    const { maxBytes: _, ...params } = gateway.requests[0]!.params as Record<string, unknown>;
    expect(params).toEqual({ sessionId: "id", ...where });
  });

  it("reports a conversation that does not exist", async () => {
    answers({
      "session.transcript": () => {
        throw new PeerError(404, "no conversation id of agent main");
      },
    });
    const { code, stderr } = await run("session", "transcript", "id");
    expect([code, stderr]).toEqual([1, "gsv: no conversation id of agent main\n"]);
  });

  it("does not request the same page forever", async () => {
    answers({ "session.transcript": () => ({ sessionId: "id", parts: [], messages: [], next: "0.0.0.0" }) });
    expect((await run("session", "transcript", "id")).code).toBe(1);
    expect(gateway.requests).toHaveLength(2);
  });

  it("explains itself with --help", async () => {
    const { stdout } = await run("session", "transcript", "--help");
    expect(stdout).toContain(
      "gsv session transcript 0b9e2c3a-6f1d-4c55-9f2e-7a3d5f0c1e11 --json > conversation.jsonl",
    );
  });
});
