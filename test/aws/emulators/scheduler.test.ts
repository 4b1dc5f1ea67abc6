import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  ConflictException,
  CreateScheduleCommand,
  type CreateScheduleCommandInput,
  DeleteScheduleCommand,
  GetScheduleCommand,
  ListSchedulesCommand,
  ResourceNotFoundException,
  SchedulerClient,
  UpdateScheduleCommand,
  ValidationException,
} from "@aws-sdk/client-scheduler";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { until } from "../../support/until.ts";
import type { AccessRequest } from "./access.ts";
import { clientConfig, startSchedulerAt } from "./support.ts";

const minute = 60_000;
const day = 24 * 60 * minute;
const acceleration = 6000;
let dir: string;
let scheduler: Awaited<ReturnType<typeof startSchedulerAt>>;
let client: SchedulerClient;
let fired: [string, unknown][];
let handle: () => Promise<unknown>;

async function start(more: Parameters<typeof startSchedulerAt>[2] = {}) {
  fired = [];
  handle = async () => undefined;
  const invoke = (name: string, event: unknown) => {
    fired.push([name, event]);
    return handle();
  };
  scheduler = await startSchedulerAt(dir, invoke, { acceleration, ...more });
  scheduler.schedules.start();
  client = new SchedulerClient({ ...clientConfig(scheduler.url), maxAttempts: 1 });
}

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "gsv-scheduler-"));
  await start();
});

afterEach(async () => {
  await scheduler.close();
  await rm(dir, { recursive: true, force: true });
});

/** The files of the folder with their content. */
const contents = async () => {
  const names = await readdir(join(dir, "schedules"));
  return Promise.all(
    names.sort().map(async (name) => [name, await readFile(join(dir, "schedules", name), "utf8")]),
  );
};
const at = (epochMs: number) => `at(${new Date(epochMs).toISOString().slice(0, 19)})`;
const input = (Name: string, expression: string, more: Partial<CreateScheduleCommandInput> = {}) => ({
  Name,
  GroupName: "gsv-local",
  ScheduleExpression: expression,
  FlexibleTimeWindow: { Mode: "OFF" as const },
  ActionAfterCompletion: "DELETE" as const,
  Target: {
    Arn: "arn:aws:lambda:us-east-1:000000000000:function:timer",
    RoleArn: "arn:aws:iam::000000000000:role/gsv-local-schedule",
    Input: JSON.stringify({ schedule: Name }),
  },
  ...more,
});
const create = (...args: Parameters<typeof input>) => client.send(new CreateScheduleCommand(input(...args)));
const get = (Name: string) => client.send(new GetScheduleCommand({ Name, GroupName: "gsv-local" }));
const list = (more = {}) => client.send(new ListSchedulesCommand({ GroupName: "gsv-local", ...more }));
/** A few milliseconds from now, with the acceleration. */
const soon = () => at(Date.now() + minute);
const later = () => at(Date.now() + 1000 * day);

describe("EventBridge Scheduler", () => {
  it("fires a one-shot schedule at its time, and deletes it", async () => {
    const answer = await create("soon", soon());
    expect(answer.ScheduleArn).toBe("arn:aws:scheduler:us-east-1:000000000000:schedule/gsv-local/soon");
    await until(() => fired.length === 1);
    expect(fired).toEqual([["timer", { schedule: "soon" }]]);
    await until(async () => (await list()).Schedules?.length === 0);
    await expect(get("soon")).rejects.toBeInstanceOf(ResourceNotFoundException);
  });

  it("keeps a one-shot schedule that is not to be deleted, and does not fire it again", async () => {
    await create("kept", soon(), { ActionAfterCompletion: "NONE" });
    await until(() => fired.length === 1);
    await scheduler.close();
    await start();
    await create("after", soon());
    await until(() => fired.length > 0);
    expect(fired).toEqual([["timer", { schedule: "after" }]]);
    expect((await get("kept")).ActionAfterCompletion).toBe("NONE");
  });

  it("does not fire before the time, nor when deleted or disabled", async () => {
    scheduler.schedules.stop();
    await create("later", later());
    await create("deleted", soon());
    await client.send(new DeleteScheduleCommand({ Name: "deleted", GroupName: "gsv-local" }));
    await create("disabled", soon(), { State: "DISABLED" });
    await create("due", soon());
    scheduler.schedules.start();
    await until(async () => (await list()).Schedules?.length === 2);
    expect(fired).toEqual([["timer", { schedule: "due" }]]);
  });

  it("brings times closer by the acceleration, for one shot and for each repeat", async () => {
    await scheduler.close();
    await start({ acceleration: 6000 });
    await create("once", at(Date.now() + 10 * minute));
    await until(() => fired.length === 1);
    await create("often", "rate(1 minute)");
    await until(() => fired.filter(([, event]) => JSON.stringify(event).includes("often")).length >= 5);
    // The minutes that passed here are some tens of milliseconds: nothing fires without pause.
    expect(fired.length).toBeLessThan(2000);
  });

  it("returns what was created and what an update made of it", async () => {
    await create("described", "rate(1 day)", {
      ScheduleExpressionTimezone: "UTC",
      Description: "mornings",
      EndDate: new Date(Date.UTC(2200, 0, 1)),
    });
    const created = await get("described");
    expect(created).toMatchObject({
      Arn: "arn:aws:scheduler:us-east-1:000000000000:schedule/gsv-local/described",
      ScheduleExpression: "rate(1 day)",
      ScheduleExpressionTimezone: "UTC",
      Description: "mornings",
      State: "ENABLED",
      FlexibleTimeWindow: { Mode: "OFF" },
      EndDate: new Date(Date.UTC(2200, 0, 1)),
      Target: { Input: '{"schedule":"described"}' },
    });
    await client.send(new UpdateScheduleCommand({ ...input("described", later()), State: "DISABLED" }));
    const updated = await get("described");
    expect(updated.State).toBe("DISABLED");
    expect(updated.Description).toBeUndefined();
    expect(updated.CreationDate).toEqual(created.CreationDate);
    await expect(client.send(new UpdateScheduleCommand(input("absent", later())))).rejects.toBeInstanceOf(
      ResourceNotFoundException,
    );
  });

  it("answers a second creation with ConflictException, unless it is the same request again", async () => {
    await create("twice", later(), { ClientToken: "one" });
    await create("twice", later(), { ClientToken: "one" });
    await expect(create("twice", later(), { ClientToken: "two" })).rejects.toBeInstanceOf(ConflictException);
  });

  it("lists by group, prefix and page", async () => {
    for (const name of ["a1", "a2", "b1"]) await create(name, later());
    await create("elsewhere", later(), { GroupName: "default" });
    expect((await list({ NamePrefix: "a" })).Schedules?.map(({ Name }) => Name)).toEqual(["a1", "a2"]);
    const first = await list({ MaxResults: 2 });
    expect(first.Schedules?.map(({ Name }) => Name)).toEqual(["a1", "a2"]);
    const second = await list({ MaxResults: 2, NextToken: first.NextToken });
    expect(second.Schedules?.map(({ Name }) => Name)).toEqual(["b1"]);
    expect(second.NextToken).toBeUndefined();
  });

  it("refuses unknown groups, bad names, expressions, windows and targets", async () => {
    await expect(create("x", later(), { GroupName: "other" })).rejects.toBeInstanceOf(
      ResourceNotFoundException,
    );
    const Target = {
      Arn: "arn:aws:sqs:us-east-1:000000000000:q",
      RoleArn: "arn:aws:iam::000000000000:role/r",
    };
    const invalid = [
      create("bad name", later()),
      create("x".repeat(65), later()),
      create("x", "at(soon)"),
      create("x", at(Date.now() - 1000)),
      create("x", at(Date.now())),
      create("x", later(), { ScheduleExpressionTimezone: "Europe/Berlin" }),
      create("x", "cron(0 9 * * ? *)"),
      create("x", later(), { FlexibleTimeWindow: { Mode: "FLEXIBLE", MaximumWindowInMinutes: 5 } }),
      create("x", later(), { Target }),
      create("x", later(), { Target: { ...input("x", "").Target, Input: "{" } }),
    ];
    for (const attempt of invalid) await expect(attempt).rejects.toBeInstanceOf(ValidationException);
    expect((await list()).Schedules).toEqual([]);
  });

  it("finds its schedules after a restart and fires once what came due meanwhile", async () => {
    scheduler.schedules.stop();
    await create("overdue", soon());
    await create("later", later());
    await create("sweep", "rate(1 day)");
    await scheduler.close();
    await start();
    await until(() => fired.length === 2);
    expect(fired.map(([, event]) => event)).toEqual(
      expect.arrayContaining([{ schedule: "overdue" }, { schedule: "sweep" }]),
    );
    await until(async () => (await list()).Schedules?.length === 2);
  });

  it("fires a one-shot schedule again when the process ended before its target was done", async () => {
    handle = () => new Promise(() => undefined);
    await create("interrupted", soon());
    await until(() => fired.length === 1);
    await scheduler.close();
    await start();
    await until(() => fired.length === 1);
    expect(fired).toEqual([["timer", { schedule: "interrupted" }]]);
  });

  it("writes nothing more once it is closed", async () => {
    for (let round = 0; round < 20; round++) {
      await scheduler.close();
      await start({ acceleration: 60_000 });
      await create(`often-${round}`, "rate(1 minute)");
      await until(() => fired.length > round);
      await scheduler.close();
      const before = await contents();
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(await contents()).toEqual(before);
    }
  });

  it("asks for access to the schedule and to pass its role", async () => {
    await scheduler.close();
    const asked: AccessRequest[] = [];
    let denied = "iam:PassRole";
    await start({ authorize: (request) => asked.push(request) > 0 && request.action !== denied });
    await expect(create("x", later())).rejects.toMatchObject({ name: "AccessDeniedException" });
    expect(asked).toEqual([
      {
        accessKeyId: "LOCALTEST",
        action: "scheduler:CreateSchedule",
        resource: "arn:aws:scheduler:us-east-1:000000000000:schedule/gsv-local/x",
      },
      {
        accessKeyId: "LOCALTEST",
        action: "iam:PassRole",
        resource: "arn:aws:iam::000000000000:role/gsv-local-schedule",
        context: { "iam:PassedToService": "scheduler.amazonaws.com" },
      },
    ]);
    denied = "";
    await expect(get("x")).rejects.toBeInstanceOf(ResourceNotFoundException);
  });

  it("goes on with a rate after the clock was set back, while it runs and after a restart", async () => {
    const now = Date.now;
    const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + 5 * 24 * 60 * minute);
    try {
      await client.send(new CreateScheduleCommand(input("sweep", "rate(1 day)")));
      await until(() => fired.length > 0);
    } finally {
      clock.mockRestore();
    }
    await scheduler.close();
    await start({ acceleration: 24 * 60 * 60 * 5 });
    await until(() => fired.length > 1);
    await scheduler.close();
    await start();
    expect(scheduler.schedules.get("gsv-local", "sweep").dueAt).toBeLessThanOrEqual(
      Date.now() + 24 * 60 * minute,
    );
  });

  it("answers garbage and unsigned requests with an error", async () => {
    const headers = { authorization: "AWS4-HMAC-SHA256 Credential=A/1/us-east-1/scheduler/aws4_request" };
    expect((await fetch(`${scheduler.url}/schedules/x`)).status).toBe(403);
    for (const [path, status] of [
      ["/", 404],
      ["/schedules/%zz", 400],
      ["/schedules/a/b", 404],
      ["/schedules/absent", 404],
    ] as const) {
      expect((await fetch(scheduler.url + path, { headers })).status).toBe(status);
    }
    for (const body of ["", "[]", "{", '{"Target":7}']) {
      const answer = await fetch(`${scheduler.url}/schedules/x`, { method: "POST", headers, body });
      expect(answer.status).toBe(400);
    }
  });
});
