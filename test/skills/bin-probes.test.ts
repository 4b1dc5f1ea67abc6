import { describe, expect, it } from "vitest";
import {
  applyAnswer,
  binStatus,
  isBinName,
  type NodeBins,
  nothingKnown,
  type ProbeOptions,
  planProbes,
} from "../../shared/skills/bin-probes.ts";

const minute = 60_000;
const plan = (bins: NodeBins, wanted: string[], options: Partial<ProbeOptions> & { now: number }) =>
  planProbes(bins, wanted, { maxAgeMs: 10 * minute, ...options });

/** A node that was asked for these programs at 0, and what it was asked. */
function asked(bins: string[], options: Partial<ProbeOptions> = {}) {
  const { next, send } = plan(nothingKnown, bins, { now: 0, ...options });
  return { next, probe: send[0]! };
}

/** A node that has told at 0 what it has of these programs. */
function told(bins: Record<string, boolean>): NodeBins {
  const { next, probe } = asked(Object.keys(bins));
  return applyAnswer(next, probe.probeId, { ok: true, bins }, 0)!;
}

describe("what a node is asked", () => {
  it("is every wanted program of which nothing is known, in one probe", () => {
    const { next, send } = plan(nothingKnown, ["gh", "jq"], { now: 5 });
    expect(send).toEqual([
      {
        probeId: expect.any(String),
        bins: ["gh", "jq"],
        timeoutMs: 15_000,
        createdAt: 5,
        sentAt: 5,
        attempts: 1,
      },
    ]);
    expect(next).toEqual({ known: {}, pending: send, answers: 0, version: 1 });
  });

  it("leaves out what is pending, also when everything is asked again", () => {
    const { next } = asked(["gh"]);
    for (const force of [false, true]) {
      expect(plan(next, ["gh", "jq"], { now: 1, force }).send.map(({ bins }) => bins)).toEqual([["jq"]]);
      const nothing = plan(next, ["gh"], { now: 1, force });
      expect(nothing.send).toEqual([]);
      expect(nothing.next).toBe(next);
    }
  });

  it("leaves out an answer for five minutes, unless everything is asked again", () => {
    const bins = told({ gh: true });
    expect(plan(bins, ["gh"], { now: 5 * minute - 1 }).send).toEqual([]);
    expect(plan(bins, ["gh"], { now: 5 * minute }).send).toMatchObject([{ bins: ["gh"] }]);
    expect(plan(bins, ["gh"], { now: 1, force: true }).send).toMatchObject([{ bins: ["gh"] }]);
    expect(binStatus(bins).hostBinStatus, "a stale answer holds until the next").toEqual({ gh: true });
  });

  it("has the time limit that is asked for, from 1 s to 120 s", () => {
    const limit = (timeoutMs: number) => asked(["gh"], { timeoutMs }).probe.timeoutMs;
    expect([0, 1000, 119_999, 500_000].map(limit)).toEqual([1000, 1000, 119_999, 120_000]);
  });

  it("is five hundred programs at most", () => {
    const many = Array.from({ length: 600 }, (_, n) => `p${n}`);
    expect(asked(many).probe.bins).toHaveLength(500);
  });
});

describe("a probe that is not answered", () => {
  it("is sent a second time when its time is over, under the same id, and then given up", () => {
    const { next, probe } = asked(["gh"]);
    expect(plan(next, [], { now: 14_999 }).send).toEqual([]);
    const again = plan(next, [], { now: 15_000 });
    expect(again.send).toEqual([{ ...probe, sentAt: 15_000, attempts: 2 }]);
    expect(again.next.pending).toEqual(again.send);
    const over = plan(again.next, [], { now: 30_000 });
    expect(over.send).toEqual([]);
    expect(over.next.pending).toEqual([]);
    expect(plan(over.next, ["gh"], { now: 30_001 }).send[0]?.probeId).not.toBe(probe.probeId);
  });

  it("is sent again under the same id when the node reconnects, until its largest age", () => {
    const { next, probe } = asked(["gh"]);
    const twice = plan(next, [], { now: 15_000 }).next;
    for (const bins of [next, twice]) {
      const again = plan(bins, ["gh"], { now: 10 * minute - 1, isNewConnection: true });
      expect(again.send).toEqual([{ ...probe, sentAt: 10 * minute - 1, attempts: 1 }]);
    }
    const tooOld = plan(next, ["gh"], { now: 10 * minute, isNewConnection: true });
    expect(tooOld.send).toMatchObject([{ bins: ["gh"], createdAt: 10 * minute }]);
    expect(tooOld.send[0]?.probeId).not.toBe(probe.probeId);
    expect(tooOld.next.pending).toEqual(tooOld.send);
  });

  it("has a largest age from a second to a day, whatever is configured", () => {
    const { next, probe } = asked(["gh"]);
    const idAt = (now: number, maxAgeMs: number) =>
      plan(next, ["gh"], { now, maxAgeMs, isNewConnection: true }).send[0]?.probeId;
    expect(idAt(999, 0)).toBe(probe.probeId);
    expect(idAt(1000, 0)).not.toBe(probe.probeId);
    const day = 24 * 60 * minute;
    expect(idAt(day - 1, 9 * day)).toBe(probe.probeId);
    expect(idAt(day, 9 * day)).not.toBe(probe.probeId);
  });
});

describe("a node's answer", () => {
  it("counts once: a repeated one, and one to a probe that was given up or never sent, are nothing", () => {
    const { next, probe } = asked(["gh"]);
    const once = applyAnswer(next, probe.probeId, { ok: true, bins: { gh: true } }, 7)!;
    expect(once).toEqual({ known: { gh: { has: true, at: 7 } }, pending: [], answers: 1, version: 2 });
    expect(applyAnswer(once, probe.probeId, { ok: true, bins: { gh: false } }, 8)).toBeUndefined();
    expect(applyAnswer(next, "never sent", { ok: true, bins: { gh: true } }, 8)).toBeUndefined();
    const late = plan(plan(next, [], { now: 15_000 }).next, [], { now: 30_000 }).next;
    expect(applyAnswer(late, probe.probeId, { ok: true, bins: { gh: true } }, 30_001)).toBeUndefined();
  });

  it("holds no program that was not told, and none that was not asked for", () => {
    const { next, probe } = asked(["gh", "jq", "git", "valueOf"]);
    const lies = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`lie-${n}`, true]));
    const bins = {
      ...lies,
      gh: true,
      jq: "yes",
      "; rm -rf /": true,
      curl: true,
      ...JSON.parse('{"__proto__": {"git": true}}'),
    };
    const answered = applyAnswer(next, probe.probeId, { ok: true, bins }, 3)!;
    expect(binStatus(answered)).toEqual({
      hostBinStatus: { gh: true, jq: false, git: false, valueOf: false },
      hostBinStatusUpdatedAt: 3,
    });
    expect(binStatus(applyAnswer(next, probe.probeId, { ok: true }, 3)!).hostBinStatus).toEqual({
      gh: false,
      jq: false,
      git: false,
      valueOf: false,
    });
  });

  it("that says it could not find out leaves the probe pending until its time is over", () => {
    const { next, probe } = asked(["gh"]);
    expect(applyAnswer(next, probe.probeId, { ok: false, bins: { gh: true } }, 3)).toBe(next);
  });

  it("is kept for a thousand programs, the newest ones", () => {
    let bins = nothingKnown;
    for (let now = 0; now < 3; now++) {
      const wanted = Array.from({ length: 500 }, (_, n) => `p${now}-${n}`);
      const { next, send } = plan(bins, wanted, { now });
      bins = applyAnswer(next, send[0]!.probeId, { ok: true }, now)!;
    }
    const kept = Object.keys(bins.known);
    expect(kept).toHaveLength(1000);
    expect(kept.some((name) => name.startsWith("p0-"))).toBe(false);
  });
});

it("a program's name holds letters, digits and . _ + - alone", () => {
  for (const name of ["gh", "g++", "python3.12", "apt-get", "[", "7z", "_", "-x"])
    expect(isBinName(name), name).toBe(name !== "[");
  for (const name of ["", "a b", "a/b", "$(x)", "a\n", "é", "__proto__", "x".repeat(101)])
    expect(isBinName(name), name).toBe(false);
});
