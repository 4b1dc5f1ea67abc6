import { join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../support/run/test-folders.ts";
import { pythonThat } from "./false-python.ts";
import { checkAgainstMoto, judge, motoDiffers } from "./moto.ts";
import { checkWithBoto3 } from "./second-client.ts";
import { lintTemplate } from "./template-lint.ts";

it("prints how to install each missing tool, and reports no fault", async () => {
  const python = join(newFolder(), "no-python");
  const found = [await checkAgainstMoto(python), await lintTemplate(python), await checkWithBoto3(python)];
  expect(found.map(({ skipped }) => skipped)).toEqual([
    "moto is not installed; pip install 'moto[server]'",
    "cfn-lint is not installed; pip install cfn-lint",
    "boto3 is not installed; pip install boto3",
  ]);
  expect(found.flatMap(({ faults }) => faults)).toEqual([]);
});

it("counts a failed case as a fault unless moto is known to fail it", () => {
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

it("counts each failed case of the second client, and its early end, as a fault", async () => {
  const python = await pythonThat(`echo '{"name":"a"}'; echo '{"name":"b","fault":"F: f"}'; exit 4`);
  const { passed, faults } = await checkWithBoto3(python);
  expect(passed).toBe(1);
  expect(faults).toEqual(["b: F: f", "the script ended with 4: "]);
});
