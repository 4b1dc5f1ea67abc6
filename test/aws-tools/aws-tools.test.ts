import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { checkAgainstMoto, judge, motoDiffers } from "./moto.ts";
import { checkWithBoto3 } from "./second-client.ts";
import { lintTemplate, regions } from "./template-lint.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gsv-aws-tools-"));
});
afterAll(() => rm(dir, { recursive: true }));

/** A command that has every package and answers what it is told to, in place of Python. */
async function pythonThat(answers: string): Promise<string> {
  const file = join(dir, `python-${Math.random()}`);
  await writeFile(file, `#!/bin/sh\ncase "$2" in import*) exit 0;; esac\n${answers}\n`);
  await chmod(file, 0o755);
  return file;
}

it("says of each tool that is not installed how to install it, and finds nothing", async () => {
  const python = join(dir, "no-python");
  const found = [await checkAgainstMoto(python), await lintTemplate(python), await checkWithBoto3(python)];
  expect(found.map(({ skipped }) => skipped)).toEqual([
    "moto is not installed; pip install 'moto[server]'",
    "cfn-lint is not installed; pip install cfn-lint",
    "boto3 is not installed; pip install boto3",
  ]);
  expect(found.flatMap(({ faults }) => faults)).toEqual([]);
});

it("takes cfn-lint's errors about the synthesized template for faults, and its warnings for none", async () => {
  const remark = (Level: string, Id: string) => ({
    Level,
    Message: "is not there",
    Location: { Path: ["Resources", "Table"] },
    Rule: { Id },
  });
  const remarks = JSON.stringify([remark("Error", "E3006"), remark("Warning", "W1")]);
  // It prints the remarks only if the last argument is a template with a table.
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

it("takes a contract's case that moto is not known to fail for a fault", () => {
  const [known] = motoDiffers;
  const failed = [
    { name: known, message: "as ever" },
    { name: "the table > new", message: "broke" },
  ];
  const report = JSON.stringify({ endpoint: "http://x", passed: 3, failed });
  expect(judge(`a warning\n${report}\n`, "")).toEqual({
    passed: 3,
    known: 1,
    faults: ["the table > new: broke"],
  });
  expect(judge("", "no such file").faults).toEqual(["the contracts did not run: no such file"]);
});

it("takes each failed case of the second client for a fault, and its early end too", async () => {
  const python = await pythonThat(`echo '{"name":"a"}'; echo '{"name":"b","fault":"F: f"}'; exit 4`);
  const { passed, faults } = await checkWithBoto3(python);
  expect(passed).toBe(1);
  expect(faults).toEqual(["b: F: f", "the script ended with 4: "]);
});
