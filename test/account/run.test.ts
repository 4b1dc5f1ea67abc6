import { afterAll, afterEach, describe, expect, inject, it } from "vitest";
import { removeFolders } from "../bench/processes/children.ts";
import { expectedDollars } from "./bill.ts";
import { localPlace } from "./local-place.ts";
import { readOptions } from "./options.ts";
import type { Place } from "./place.ts";
import { type Report, type RunOptions, runAccount } from "./run.ts";

const saved = { ...process.env };
afterEach(() => {
  process.env = { ...saved };
});
afterAll(removeFolders);

let lines: string[] = [];
const run = (place: Place, options: Partial<RunOptions> = {}): Promise<Report> => {
  lines = [];
  const say = (line: string) => void lines.push(line);
  return runAccount(place, { stage: "trial", turns: 6, keep: false, say, ...options });
};

/** A place whose deployment fails, and which records what is destroyed. */
function failingPlace(changes: Partial<Place> = {}): Place & { destroyed: number } {
  const never = async (): Promise<never> => {
    throw new Error("not reached");
  };
  const place = {
    ...{ name: "nowhere", idleMs: 0, destroyed: 0, destroyCommands: ["gsv deploy destroy --stage trial"] },
    existing: async () => [],
    deploy: async () => {
      throw new Error("ROLLBACK_COMPLETE");
    },
    ...{ watched: never, count: never, prices: never },
    destroy: async () => void place.destroyed++,
    ...changes,
  };
  return place;
}

describe("npm run account", () => {
  it("follows the first hour over the emulators, and counts and prices what it used", async () => {
    const report = await run(localPlace("trial", inject("bundles")));
    const outcomes = report.steps.map(({ number, outcome, detail }) => ({ number, outcome, detail }));
    expect(outcomes).toEqual(
      Array.from({ length: 10 }, (_, index) => ({
        ...{ number: index + 1, outcome: index === 0 ? "skipped" : "passed", detail: expect.any(String) },
      })),
    );
    expect(report).toMatchObject({ turns: 6, destroyed: true, expectedDollars: 0.06 });
    const { lambdaInvocation = 0, dynamodbWrite = 0, webSocketMessage = 0, s3Put = 0 } = report.counts;
    // Each turn runs the socket and the agent, writes, and is sent and answered.
    expect(Math.min(lambdaInvocation, dynamodbWrite, webSocketMessage)).toBeGreaterThanOrEqual(12);
    expect(s3Put).toBeGreaterThanOrEqual(1);
    expect(report.dollars).toBeGreaterThan(0);
    expect(report.dollars).toBeLessThan(report.expectedDollars);
    expect(lines[0]).toContain("it costs at most $0.06");
  });

  it("destroys after a deployment that failed halfway", async () => {
    const place = failingPlace();
    const report = await run(place);
    expect(report.steps.at(-1)).toMatchObject({ number: 2, outcome: "failed", detail: "ROLLBACK_COMPLETE" });
    expect([place.destroyed, report.destroyed]).toEqual([1, true]);
  });

  it("destroys when it is interrupted", async () => {
    const interrupted = new AbortController();
    const deploy = () => {
      interrupted.abort();
      return new Promise<never>(() => {});
    };
    const place = failingPlace({ deploy });
    const report = await run(place, { interrupted: interrupted.signal });
    expect([place.destroyed, report.destroyed]).toEqual([1, true]);
    expect(report.steps.map(({ number }) => number)).toEqual([1]);
  });

  it("deploys nothing in an account with a fault, and says what to do", async () => {
    const fault = { check: "bootstrap", state: "fault", found: "no CDK", todo: "npx cdk bootstrap" } as const;
    const report = await run(failingPlace({ preflight: async () => [fault] }));
    expect(report.steps).toMatchObject([{ outcome: "failed", detail: "no CDK → npx cdk bootstrap" }]);
  });

  it("touches nothing of a stage that exists", async () => {
    const place = failingPlace({ existing: async () => ["gsv-trial"] });
    await expect(run(place)).rejects.toThrow("the stage trial exists (gsv-trial) and was not touched");
    expect(place.destroyed).toBe(0);
  });

  it("prints the commands that delete what is kept or left", async () => {
    const kept = failingPlace();
    expect((await run(kept, { keep: true })).destroyed).toBe(false);
    expect([kept.destroyed, lines.at(-1)]).toEqual([
      0,
      "kept; this deletes it:\n  gsv deploy destroy --stage trial",
    ]);
    const rejecting = failingPlace({ destroy: () => Promise.reject(new Error("AccessDenied")) });
    expect((await run(rejecting)).destroyed).toBe(false);
    expect(lines.at(-1)).toBe(
      "not everything is deleted (AccessDenied); run:\n  gsv deploy destroy --stage trial",
    );
  });

  it("costs less than a dollar with any number of turns that it accepts", () => {
    const { turns } = readOptions(["--turns", "8000"]);
    expect(expectedDollars(turns)).toBeLessThan(1);
    expect(readOptions([], () => 0.5).stage).toBe("account-500000");
    for (const wrong of [
      ["--turns", "8001"],
      ["--stage", "Prod_1"],
      ["--keep", "--local"],
    ])
      expect(() => readOptions(wrong)).toThrow(wrong[0]);
  });
});
