import { afterAll, beforeAll, expect, it } from "vitest";
import { setLogOutput } from "../../shared/runtime/log.ts";
import { Year } from "../bench/year/year.ts";

let restore = () => {};
beforeAll(() => {
  restore = setLogOutput(() => {});
});
afterAll(() => restore());

it("a day of an agent that dreams makes the calls of the fourth week, but for the notes that it reads", async () => {
  const year = new Year(2);
  const own = () => year.stored()["table S META"]?.bytes ?? 0;
  while (year.days.length < 40) await year.live();
  const sizeBefore = own();
  while (year.days.length < 72) await year.live();
  // From the seventeenth day on, the notes of past days are written as one object, once a day.
  const [early, late] = [year.days.slice(21, 28), year.days.slice(-7)].map((days) => {
    const names = [...new Set(days.flatMap(({ calls }) => Object.keys(calls)))];
    const sum = (name: string) => days.reduce((all, { calls }) => all + (calls[name] ?? 0), 0);
    return new Map(names.map((name) => [name, sum(name)]));
  });
  for (const name of ["table.write", "table.query", "bucket.put", "bucket.list", "schedules.once"])
    expect([name, late?.get(name)]).toEqual([name, early?.get(name)]);
  // A year of earlier conversations would go with every write of the session.
  expect(own()).toBeLessThanOrEqual(sizeBefore);
  // It has dreamed each night.
  expect(year.stored()["bucket DREAMS.md"]?.bytes).toBeGreaterThan(5000);
});
