import { expect, it } from "vitest";
import { pythonThat } from "../../aws-tools/false-python.ts";
import { lintTemplate, regions } from "../../aws-tools/template-lint.ts";

/** The handling of cfn-lint's findings. */
export function templateLintCases(): void {
  it("reports cfn-lint's errors about the synthesized template as faults, but not its warnings", async () => {
    const remark = (Level: string, Id: string) => ({
      Level,
      Message: "is not there",
      Location: { Path: ["Resources", "Table"] },
      Rule: { Id },
    });
    const remarks = JSON.stringify([remark("Error", "E3006"), remark("Warning", "W1")]);
    // It prints the findings only if the last argument is a template with a table.
    const lint = await pythonThat(
      `for file; do :; done\ngrep -q AWS::DynamoDB::GlobalTable "$file" && echo '${remarks}'`,
    );
    const found = await lintTemplate(lint);
    expect(found).toMatchObject({ passed: 0, known: 1, faults: ["E3006 Resources/Table: is not there"] });
    const clean = await lintTemplate(await pythonThat("echo '[]'"));
    expect(clean).toMatchObject({ passed: regions.length, faults: [] });
    expect((await lintTemplate(await pythonThat("echo broken >&2; exit 3"))).faults).toEqual([
      "cfn-lint did not run: broken",
    ]);
  });
}
