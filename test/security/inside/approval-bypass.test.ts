import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listGrants, revokeGrant, useGrant } from "../../../shared/approvals/grants.ts";
import { judge, type Policy } from "../../../shared/approvals/policy.ts";
import { readRequest } from "../../../shared/approvals/requests.ts";
import type { Approval } from "../../../shared/protocol/approvals.ts";
import type { Table } from "../../../shared/world/world.ts";
import {
  answer,
  approving,
  asked,
  askingForProbe,
  fire,
  invoke,
  on,
  openHere,
  otherSession,
  probe,
  ran,
  results,
  runOf,
  say,
  useApprovalBench,
} from "../../agent/tools/approval-bench.ts";
import { type Household, openHousehold } from "../household.ts";

/** Approval bypass: something runs that nobody allowed, or that is not what was allowed. Each test is an advisory or report. */

const probing = (args: Record<string, unknown>) => ({ name: "pi__probe", arguments: args });

async function revoke(of: string): Promise<void> {
  const grants = (await listGrants(on.state.table)).filter(({ args }) => args.of === of);
  for (const { id } of grants) await revokeGrant(on.state.table, id);
}

describe("a rule that allows `git status`", () => {
  const allowing: Policy = {
    ...{ mode: "ask", nodes: {}, defaultDecision: "byClass" },
    rules: [
      {
        ...{ id: "status", tool: "*__Bash", decision: "allow" },
        when: [{ path: "command", op: "contains", value: "git status" }],
      },
    ],
  };
  const decide = async (command: string) =>
    (
      await judge(
        allowing,
        { tool: "pi__Bash", node: "pi", bareName: "Bash", args: { command } },
        [],
        async () => undefined,
      )
    ).decision;

  it.each([
    ["GHSA-hjvp-qhm6-wrh2: in another environment", "GIT_SSH_COMMAND='sh -c id' git status"],
    ["GHSA-hjvp-qhm6-wrh2: with an exported variable", "export GIT_PAGER=id; git status"],
    ["CVE-2026-29607: behind a wrapper", "sudo git status"],
    ["CVE-2026-29607: behind a wrapper's path", "/usr/bin/nice -n 5 git status"],
    ["CVE-2026-29607: in a shell's argument", "bash -c 'git status; id'"],
    ["CVE-2026-32065: with a blank that is not shown", "git status\u00a0; id"],
    ["CVE-2026-32065: with a blank at the end of a name", "'git status ' && id"],
    ["CVE-2026-32065: with another line", "git status\r\nid"],
    ["GHSA-xvhf-x56f-2hpp: with an expansion", "git status $HOME"],
    ["GHSA-xvhf-x56f-2hpp: with a substitution", "git status $(id)"],
    ["GHSA-xvhf-x56f-2hpp: with an expansion in quotes", 'git status "`id`"'],
    ["GHSA-796m-2973-wc5q: behind env -S", "env -S 'git status'"],
    ["OpenClaw 128470: piped into a shell", "git status | sh"],
    ["OpenClaw 128470: with a redirection", "git status > ~/.bashrc"],
  ])("does not allow it %s", async (_, command) => {
    expect(await decide("git status")).toBe("allow");
    expect(await decide(command)).toBe("ask");
  });
});

describe("what the owner has allowed", () => {
  useApprovalBench();

  /** Allows a call for ever, and lets it run. */
  async function allowAlways(args: Record<string, unknown>): Promise<void> {
    askingForProbe();
    await asked(probing(args));
    await answer("allow", { scope: "always" });
    await invoke();
    expect(ran()).toBe(1);
    otherSession();
    on.bench.posted.length = 0;
  }

  it.each([
    ["GHSA-hjvp-qhm6-wrh2: in another environment", { command: "make", env: { LD_PRELOAD: "/tmp/x.so" } }],
    ["OpenClaw 129636: in another folder", { command: "make", workdir: "/tmp/other" }],
    ["OpenClaw 112946: with another argument", { command: "make install" }],
    ["OpenClaw 112946: with the same words in other places", { command: ["make"] }],
  ])("does not run %s", async (name, args) => {
    await allowAlways({ command: "make", workdir: `/home/${name}` });
    await asked(probing({ workdir: `/home/${name}`, ...args }));
    expect([ran(), (await openHere()).length]).toEqual([0, 1]);
  });

  it("OpenClaw 146517: does not run after it was revoked", async () => {
    await allowAlways({ of: "revoked" });
    await revoke("revoked");
    await asked(probing({ of: "revoked" }));
    expect([ran(), (await openHere()).length]).toEqual([0, 1]);
  });

  it.each([
    ["revoked", () => revoke("sent")],
    ["forbidden", async () => approving({ rules: [{ id: "no", tool: "*probe", decision: "deny" }] })],
  ])("OpenClaw 146517: does not run after it was %s between the commit and the dispatch", async (_, end) => {
    await allowAlways({ of: "sent" });
    for (let left = 1; (await runOf())?.phase !== "tools"; left++) {
      otherSession();
      on.replies = [{ toolCalls: [probing({ of: "sent" })] }];
      await say("go");
      await invoke({ left, calls: [] });
    }
    expect([ran(), (await runOf())?.pendingCount]).toEqual([0, 1]);
    await end();
    await invoke();
    expect([ran(), await runOf()]).toEqual([0, undefined]);
    expect(results(await on.bench.live(on.sessionKey))).toEqual([expect.stringContaining("no longer is")]);
    await revoke("sent");
  });

  it("OpenClaw 78225: stays revoked when a use is counted at the same time", async () => {
    await allowAlways({ of: "counted" });
    const { table } = on.state;
    const stored = (await table.get({ pk: "POLICY", sk: "GRANTS" }))?.grants as unknown as (Approval & {
      equal: string;
    })[];
    const { id = "", equal = "" } = stored.find(({ args }) => args.of === "counted") ?? {};
    const place = { sessionKey: on.sessionKey, sessionId: "i", runId: "r" };
    // The use was read before the revocation, and is written after it.
    const late: Pick<Table, "get" | "update"> = {
      get: (key) => table.get(key),
      async update(...given) {
        await revokeGrant(table, id);
        return table.update(...given);
      },
    };
    expect(await useGrant(late as Table, equal, place, 1)).toBeUndefined();
    expect((await listGrants(table)).map((one) => one.id)).not.toContain(id);
    expect(await useGrant(table, equal, place, 2)).toBeUndefined();
  });

  it("OpenClaw 59349: does not run in another session, nor is that session's request answered", async () => {
    await asked(probe);
    const first = on.sessionKey;
    otherSession();
    await asked(probe);
    const [mine] = await openHere();
    on.sessionKey = first;
    await answer("allow", { scope: "session" });
    await invoke();
    expect(await readRequest(on.state.table, mine?.id ?? "")).toMatchObject({ state: "open" });
    otherSession();
    await asked(probe);
    expect([ran(), (await openHere()).length]).toEqual([1, 1]);
  });

  it("OpenClaw 78415: does not run when nobody answers, nor by an answer that comes late", async () => {
    await asked(probe);
    const [{ id = "" } = {}] = await openHere();
    on.bench.later += 25 * 3_600_000;
    expect(await answer("allow", { id })).toMatchObject({ status: "expired" });
    await fire("tool-timeout");
    await invoke();
    expect(await answer("allow", { id })).toMatchObject({ status: "expired" });
    await invoke();
    expect(ran()).toBe(0);
    expect(results(await on.bench.live(on.sessionKey))).toEqual([expect.stringContaining("nobody answered")]);
  });

  it("OpenClaw 78415: does not run when the settings become unreadable", async () => {
    await asked(probe);
    await answer("allow");
    approving({ mode: "sometimes" as never });
    await invoke();
    expect(ran()).toBe(0);
  });
});

describe("PT-2026-22443: a request", () => {
  let house: Household;
  beforeAll(async () => {
    house = await openHousehold();
    await house.configuration.set("toolApproval.mode", "ask");
  });
  afterAll(() => house.close());

  it("is answered by no token without the scope, by no text, and by no model", async () => {
    const { client, node, bridge, approver } = house.peers;
    await house.bring({ from: "olga", text: "call laptop__Bash" });
    const list = () => approver.call<{ approvals: Approval[] }>("approval.list", {});
    await expect.poll(async () => (await list()).approvals.length).toBe(1);
    const [request] = (await list()).approvals;
    const given = { id: request?.id, hash: request?.hash, decision: "allow" };
    for (const peer of [client, node, bridge, await house.stranger()]) {
      const { ok, error } = await peer.request("approval.answer", given);
      expect([ok, error?.code]).toEqual([false, expect.toBeOneOf([101, 401, 403])]);
    }
    for (const text of [`/approve ${request?.id}`, `allow ${request?.id}`, "yes"])
      await house.ask({ from: "gus", text });
    for (const tool of ["gsv__approval_answer", "approval.answer", "gsv__Approve"])
      expect(await house.say(client, "agent:main:other", `call ${tool} ${JSON.stringify(given)}`)).toMatch(
        /Tool not found/,
      );
    expect([house.calls.length, (await list()).approvals.length]).toEqual([0, 1]);
    expect(await approver.call("approval.answer", given)).toEqual({ status: "answered" });
    await expect.poll(() => house.calls.length).toBe(1);
  });
});
