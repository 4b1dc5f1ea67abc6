import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { functionNames } from "../../infra/permissions.ts";
import { removeFolders } from "../support/run/test-folders.ts";
import { type Found, missing, runCommand } from "./python.ts";

/** One region of each of four continents: what exists in one may be missing in another. */
export const regions = ["us-east-1", "eu-central-1", "ap-southeast-2", "sa-east-1"] as const;

const command = "from cfnlint.runner import main; main()";

/** Settings that put every optional resource into the template. */
const context = {
  stage: "lint",
  alarmEmail: "a@example.com",
  requireHeader: "true",
  webhookConcurrency: "5",
};

interface Remark {
  Level: string;
  Message: string;
  Location: { Path?: (string | number)[] };
  Rule: { Id: string };
}

/** Runs cfn-lint over the stage's synthesized template, in four regions. Its errors are faults; its warnings are not. */
export function lintTemplate(python: string): Promise<Found> {
  return lint(python, "cfn-lint", writeTemplate);
}

/** Runs it over the template of `examples/embedded`, with the construct as a package. */
export async function lintExample(python: string): Promise<Found> {
  const found = lint(python, "cfn-lint of examples/embedded", async () => {
    const { exampleTemplate, installConstruct, packConstruct } = await import("../infra/packed-construct.ts");
    return exampleTemplate(await installConstruct(await packConstruct()));
  });
  return found.finally(removeFolders);
}

/** @param write writes the template, into a new folder if it likes. @returns its file */
async function lint(
  python: string,
  name: string,
  write: (folder: string) => Promise<string>,
): Promise<Found> {
  const check = `${name} in ${regions.join(", ")}`;
  const skipped = await missing(python, "cfnlint", { name: "cfn-lint" });
  if (skipped) return { check, passed: 0, faults: [], skipped };
  const folder = mkdtempSync(join(tmpdir(), "gsv-lint-"));
  try {
    const file = await write(folder);
    // W3005: CDK writes dependencies that a reference implies already.
    const options = ["-f", "json", "-i", "W3005", "-r", ...regions, "-t", file];
    const { stdout, stderr } = await runCommand(python, ["-c", command, ...options]);
    return { check, ...judgeRemarks(stdout, stderr) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Counts every remark that is not an error as known. */
function judgeRemarks(stdout: string, stderr: string): Omit<Found, "check"> {
  let remarks: Remark[];
  try {
    remarks = JSON.parse(stdout) as Remark[];
  } catch {
    return { passed: 0, faults: [`cfn-lint did not run: ${(stderr || stdout).trim().slice(0, 500)}`] };
  }
  const errors = remarks.filter(({ Level }) => Level === "Error");
  const faults = errors.map(
    ({ Rule, Location, Message }) => `${Rule.Id} ${Location.Path?.join("/") ?? ""}: ${Message}`,
  );
  return { passed: faults.length === 0 ? regions.length : 0, faults, known: remarks.length - errors.length };
}

/** Writes a template with empty functions, because it does not depend on their code. @returns its file */
async function writeTemplate(folder: string): Promise<string> {
  // Loading CDK takes seconds, so do it only if cfn-lint is installed.
  const { createApp } = await import("../../infra/app.ts");
  const bundles = join(folder, "functions");
  for (const name of functionNames) {
    mkdirSync(join(bundles, name), { recursive: true });
    writeFileSync(join(bundles, name, "handler.mjs"), "export const handler = async () => {};\n");
  }
  const { app, stack } = createApp(bundles, {
    context,
    outdir: join(folder, "out"),
    builtinCloudFormationValidation: false,
  });
  const file = join(folder, "template.json");
  writeFileSync(file, JSON.stringify(app.synth().getStackByName(stack.stackName).template));
  return file;
}
