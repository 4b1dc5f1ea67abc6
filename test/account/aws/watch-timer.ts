import { setTimeout as delay } from "node:timers/promises";
import { formRequest, rpcRequest, type SendSigned } from "../../../shared/aws/signed-request.ts";
import type { StageStack } from "../../../shared/aws/stage-stack.ts";
import { sweepsIn } from "../local-place.ts";
import type { Watched } from "../place.ts";

/** A sweep runs each minute, and its log appears some seconds later. */
const pauseMs = 15_000;
const maxAttempts = 12;

/** Reads the sweeps since a time from the timer's log, and the states of the stack's alarms. Waits for the first sweep. */
export async function watchTimer(
  send: SendSigned,
  region: string,
  { resources }: StageStack,
  since: number,
): Promise<Watched> {
  const named = (type: string) =>
    resources.flatMap((one) => (one.type === type && one.name ? [one.name] : []));
  const group = named("AWS::Logs::LogGroup").find((name) => /timer/i.test(name)) ?? "";
  let overdue: number[] = [];
  for (let attempt = 1; overdue.length === 0 && attempt <= maxAttempts; attempt++) {
    if (attempt > 1) await delay(pauseMs);
    overdue = await readSweeps(send, region, group, since);
  }
  return { overdue, alarms: await alarmStates(send, region, named("AWS::CloudWatch::Alarm")) };
}

async function readSweeps(
  send: SendSigned,
  region: string,
  logGroupName: string,
  startTime: number,
): Promise<number[]> {
  const found: number[] = [];
  let nextToken: string | undefined;
  do {
    const input = { logGroupName, startTime, filterPattern: '"sweep.done"', nextToken };
    const request = { region, ...rpcRequest("logs", "Logs_20140328.FilterLogEvents", input) };
    const page = JSON.parse(await send(request)) as { events?: { message: string }[]; nextToken?: string };
    for (const { message } of page.events ?? []) found.push(...sweepsIn(message));
    nextToken = page.nextToken;
  } while (nextToken);
  return found;
}

async function alarmStates(send: SendSigned, region: string, names: readonly string[]): Promise<string[]> {
  const fields = Object.fromEntries(names.map((name, index) => [`AlarmNames.member.${index + 1}`, name]));
  const call = { Action: "DescribeAlarms", Version: "2010-08-01", ...fields };
  const text = await send(formRequest("monitoring", region, call));
  return [...text.matchAll(/<StateValue>(\w+)<\/StateValue>/g)].map(([, state = ""]) => state);
}
