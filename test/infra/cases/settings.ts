import { expect, test } from "vitest";
import { readSettings } from "../../../infra/stage-settings.ts";

/** The settings of a stage. */
export function settingsCases(): void {
  const read = (context: Record<string, unknown>) => readSettings((key) => context[key]);

  test("a stage without settings is dev with the defaults", () => {
    expect(read({})).toEqual({
      stage: "dev",
      alarmEmail: undefined,
      tableName: undefined,
      logLevel: undefined,
      logRetentionDays: 30,
      metrics: false,
      tracing: false,
      oldVersionDays: 30,
      messagesPerSecond: 100,
      connectsPerSecond: 10,
      programsPerSecond: 20,
      requireHeader: false,
      webhookConcurrency: undefined,
      concurrentExecutions: 10,
      monthlyBudget: 20,
    });
  });

  test("numbers are accepted as numbers and as text from the command line", () => {
    const settings = read({
      stage: "prod-2",
      alarmEmail: "me@example.com",
      logRetentionDays: "7",
      oldVersionDays: 90,
    });
    expect(settings).toMatchObject({
      stage: "prod-2",
      alarmEmail: "me@example.com",
      logRetentionDays: 7,
      oldVersionDays: 90,
    });
  });

  test("all faults are reported together, each with the given value", () => {
    const context = {
      stage: "Prod",
      alarmEmail: "nobody",
      logRetentionDays: "8",
      oldVersionDays: "",
      messagesPerSecond: 1.5,
      requireHeader: "yes",
      logLevel: "loud",
    };
    expect(() => read(context)).toThrow(
      'settings: stage must be a short lower-case name, not "Prod"; ' +
        'alarmEmail must be an email address, not "nobody"; ' +
        "logRetentionDays must be one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, " +
        '2192, 2557, 2922, 3288, 3653, not "8"; ' +
        'logLevel must be DEBUG, INFO, WARN or ERROR, not "loud"; ' +
        'oldVersionDays must be a whole number from 1 to 3650, not ""; ' +
        "messagesPerSecond must be a whole number from 1 to 10000, not 1.5; " +
        'requireHeader must be true or false, not "yes"',
    );
  });

  test.each(["a", "dev", "a-20-character-stage"])("%s is a stage name", (stage) => {
    expect(read({ stage }).stage).toBe(stage);
  });

  test.each(["", "2nd", "with_underscore", "a-21-characters-stage"])("%j is not a stage name", (stage) => {
    expect(() => read({ stage })).toThrow("stage must be");
  });
}
