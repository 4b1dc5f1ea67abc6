import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";

const rooms = ["cli", "functions", "infra", "local", "shared", "test"];
const list = ["ls-files", "--cached", "--others", "--exclude-standard", "--", ...rooms];
const files = execFileSync("git", list, { encoding: "utf8" })
  .split("\n")
  .filter((file) => /\.(ts|mts|mjs)$/.test(file) && existsSync(file));

/** The files of ours that a file imports. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const named = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+)"/g)].map(
    ([, path = ""]) => path,
  );
  return named.map((path) => normalize(join(dirname(file), path)));
}

const within = (file: string, folder: string) => file.startsWith(`${folder}/`);
const crossings = (from: string, allowed: (target: string) => boolean) =>
  files
    .filter((file) => within(file, from))
    .flatMap((file) => importsOf(file).map((target) => [file, target] as const))
    .filter(([, target]) => !within(target, from) && !allowed(target))
    .map(([file, target]) => `${file} imports ${target}`);

describe("imports point one way", () => {
  it.each(["socket", "webhook", "timer", "agent"])(
    "functions/%s imports nothing but itself and shared",
    (name) => {
      expect(
        crossings(`functions/${name}`, (target) => within(target, "shared") || target === "package.json"),
      ).toEqual([]);
    },
  );

  it("shared imports nothing of the other rooms", () => {
    expect(crossings("shared", () => false)).toEqual([]);
  });

  it("shared/protocol imports nothing of ours", () => {
    expect(crossings("shared/protocol", () => false)).toEqual([]);
  });

  it("what is deployed imports neither cli, local nor test", () => {
    for (const room of ["functions", "shared", "infra"]) {
      const wrong = crossings(
        room,
        (target) => !["cli", "local", "test"].some((other) => within(target, other)),
      );
      expect(wrong).toEqual([]);
    }
  });

  it("cli and local import no test, and local imports the functions in one place alone", () => {
    for (const room of ["cli", "local"]) {
      const wrong = crossings(
        room,
        (target) => !["functions", "test"].some((other) => within(target, other)),
      ).filter((crossing) => !/^local\/lambda\/function-sources\.ts imports functions\//.test(crossing));
      expect(wrong).toEqual([]);
    }
  });
});

const sources = files.filter((file) => !within(file, "test"));

describe("each room keeps to what is its own", () => {
  it("only shared/aws imports the AWS SDK", () => {
    const users = sources.filter((file) => /from "@(aws-sdk|smithy)\//.test(readFileSync(file, "utf8")));
    expect(users.filter((file) => !within(file, "shared/aws"))).toEqual([]);
  });

  it("in what is deployed, only shared/runtime/environment.ts reads the environment", () => {
    const deployed = sources.filter((file) => within(file, "functions") || within(file, "shared"));
    const readers = deployed.filter((file) => readFileSync(file, "utf8").includes("process.env"));
    expect(readers).toEqual(["shared/runtime/environment.ts"]);
  });

  it("no function knows of local mode", () => {
    const deployed = sources.filter((file) => within(file, "functions") || within(file, "shared"));
    const knowing = deployed.filter((file) =>
      /127\.0\.0\.1|localhost|isLocal/.test(readFileSync(file, "utf8")),
    );
    expect(knowing).toEqual([]);
  });
});

describe("files stay small enough to be read", () => {
  it("none has more than 400 lines", () => {
    const long = files.map((file) => [file, readFileSync(file, "utf8").split("\n").length - 1] as const);
    expect(long.filter(([, lines]) => lines > 400)).toEqual([]);
  });

  it("half of them have fewer than 100", () => {
    const lengths = sources
      .map((file) => readFileSync(file, "utf8").split("\n").length)
      .sort((a, b) => a - b);
    expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThan(100);
  });

  it("none is named utils, helpers, manager or service", () => {
    expect(files.filter((file) => /(utils?|helpers?|manager|service)\.\w+$/i.test(file))).toEqual([]);
  });
});
