import { expect, test } from "vitest";
import { synthesizeTemplate, type TemplateJson } from "../synthesis.ts";

/** The ids by which CloudFormation knows a stage's resources. */
export function stableIdsCases(): void {
  const everything = { alarmEmail: "owner@example.com", webhookConcurrency: "5", requireHeader: "true" };
  const adopting = { tableName: "kept-table", bucketName: "kept-bucket" };
  /** Properties that CloudFormation changes only by replacing the resource. */
  const names = ["FunctionName", "LogGroupName", "Name", "TargetFunctionArn", "ApiId", "Endpoint", "Topics"];
  const linesOf = ({ Resources }: TemplateJson) =>
    Object.entries(Resources).map(([id, { Type, Properties }]) =>
      [id, Type, ...names.flatMap((name) => (Properties[name] ? JSON.stringify(Properties[name]) : []))].join(
        " ",
      ),
    );

  test("a stage of an earlier release keeps its resources: ids, types and names are those of the list", async () => {
    const lines = [everything, adopting].flatMap((context) => linesOf(synthesizeTemplate(context)));
    await expect(`${[...new Set(lines)].sort().join("\n")}\n`).toMatchFileSnapshot("resources.txt");
  });
}
