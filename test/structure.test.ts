import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";

/** A folder with more files gets a warning. It may be right: a folder is one idea, not a number of files. */
const manyFiles = 24;

const rooms = ["cli", "functions", "infra", "local", "shared", "test", "web"];
const list = ["ls-files", "--cached", "--others", "--exclude-standard", "--", ...rooms];
const files = execFileSync("git", list, { encoding: "utf8" })
  .split("\n")
  .filter((file) => /\.(tsx?|mts|mjs)$/.test(file) && existsSync(file));

/** The project's files that a file imports. */
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

/** Rooms under `shared`, and the rooms of `shared` that each may import besides `origins`. */
const allowedRooms: Record<string, readonly string[]> = {
  "shared/build": [],
  "shared/origins": [],
  "shared/protocol": [],
  "shared/runtime": ["world"],
  "shared/world": ["protocol"],
  "shared/aws": ["protocol", "runtime", "world"],
  "shared/configuration": ["protocol", "runtime", "world"],
  "shared/http": ["protocol", "runtime"],
  "shared/spend": ["configuration", "protocol", "runtime", "world"],
  "shared/objects": ["protocol", "runtime", "world"],
  "shared/context": ["configuration", "objects", "protocol"],
  "shared/media": ["protocol", "runtime", "world"],
  "shared/mcp": ["configuration", "http", "media", "protocol", "runtime", "world"],
  "shared/peers": ["media", "protocol", "runtime", "world"],
  "shared/workspace": ["configuration", "protocol", "runtime", "world"],
  "shared/memory": ["git", "protocol", "recall", "runtime", "workspace", "world"],
  "shared/dreaming": [
    ...["configuration", "git", "memory", "protocol", "recall", "runtime", "session", "workspace", "world"],
  ],
  "shared/git": ["configuration", "protocol", "runtime", "workspace", "world"],
  "shared/skills": ["configuration", "protocol", "runtime", "peers", "workspace", "world"],
  "shared/recall": ["configuration", "http", "protocol", "runtime", "session", "spend", "workspace", "world"],
  "shared/session": [
    ...["configuration", "context", "media", "protocol", "runtime", "spend", "workspace", "world"],
  ],
  "shared/cron": [
    ...["channels", "configuration", "protocol", "runtime", "session", "spend", "workspace", "world"],
  ],
  "shared/transfer": ["peers", "protocol", "runtime", "session", "skills", "workspace", "world"],
  "shared/approvals": [
    ...["channels", "configuration", "peers", "protocol", "runtime", "session", "spend", "workspace"],
    "world",
  ],
  "shared/channels": [
    ...["configuration", "http", "media", "peers", "protocol", "runtime", "session", "workspace", "world"],
  ],
  "shared/heartbeat": ["channels", "configuration", "protocol", "runtime", "session", "workspace", "world"],
};

/** Imports between rooms of `shared` against `allowedRooms`. The list may only shrink: an unused entry fails too. */
const knownCrossings = [
  "shared/http/platform-call.ts imports shared/channels/channel.ts",
  "shared/media/media-content.ts imports shared/session/call-address.ts",
  "shared/media/media-content.ts imports shared/session/inbox-entry.ts",
  "shared/media/media-store.ts imports shared/session/inbox-entry.ts",
];

function sameList(found: readonly string[], known: readonly string[]): void {
  expect([...new Set(found)].sort()).toEqual([...known].sort());
}

describe("imports point one way", () => {
  it.each(["socket", "webhook", "timer", "agent", "openai", "mcp", "page"])(
    "functions/%s imports nothing but itself and shared",
    (name) => {
      expect(
        crossings(`functions/${name}`, (target) => within(target, "shared") || target === "package.json"),
      ).toEqual([]);
    },
  );

  it("shared does not import from the other rooms", () => {
    expect(crossings("shared", () => false)).toEqual([]);
  });

  it("the rooms of shared import only the rooms below them", () => {
    const found = Object.entries(allowedRooms).flatMap(([room, allowed]) =>
      crossings(room, (target) => ["origins", ...allowed].some((other) => within(target, `shared/${other}`))),
    );
    sameList(found, knownCrossings);
    const rooms = new Set(files.flatMap((file) => file.match(/^shared\/[^/]+/)?.[0] ?? []));
    expect([...rooms].filter((room) => !(room in allowedRooms))).toEqual([]);
  });

  it("the local world implements the same types as shared/aws, and does not import it", () => {
    const allowed = (target: string) =>
      within(target, "local") || ["protocol", "world"].some((room) => within(target, `shared/${room}`));
    expect(crossings("local/world", allowed)).toEqual([]);
  });

  it("web imports itself, and types of shared/protocol", () => {
    expect(crossings("web", (target) => within(target, "shared/protocol"))).toEqual([]);
    const ofPage = files.filter((file) => within(file, "web")).map((file) => readFileSync(file, "utf8"));
    expect(ofPage.length).toBeGreaterThan(20);
    const values = ofPage.flatMap((text) =>
      [...text.matchAll(/import\s+(?!type\b)[^;]*?from "([^"]*(?:shared\/|node:)[^"]*)"/g)].map(
        ([, from]) => from,
      ),
    );
    expect(values).toEqual([]);
  });

  it("no part of the page writes HTML", () => {
    const sinks =
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|createContextualFragment|\beval\(/;
    const users = files.filter((file) => within(file, "web") && sinks.test(readFileSync(file, "utf8")));
    expect(users).toEqual([]);
  });

  it("what is deployed imports neither cli, local nor test", () => {
    for (const room of ["functions", "shared", "infra"]) {
      const wrong = crossings(
        room,
        (target) => !["cli", "local", "test", "web"].some((other) => within(target, other)),
      );
      expect(wrong).toEqual([]);
    }
  });

  it("cli and local import no test, and local imports the functions in only one place", () => {
    for (const room of ["cli", "local"]) {
      const wrong = crossings(
        room,
        (target) => !["functions", "test", "web"].some((other) => within(target, other)),
      ).filter(
        (crossing) =>
          !/^local\/in-process-gateway\.ts imports functions\/\w+\/\w+-handler\.ts/.test(crossing),
      );
      expect(wrong).toEqual([]);
    }
  });

  it("only a function's handler, `gsv deploy`, its preflight, `gsv admin` and `gsv logs` import shared/aws", () => {
    const allowed =
      /^(functions\/\w+\/handler|cli\/commands\/setup\/deploy-\w+|cli\/commands\/doctor\/(preflight|checked|stack-checks|bedrock-checks)|cli\/commands\/logs\/(gateway-logs|run-logs)|cli\/gateway\/stage-access)\.ts$/;
    const users = files.filter(
      (file) =>
        !within(file, "shared/aws") &&
        !within(file, "test") &&
        importsOf(file).some((target) => within(target, "shared/aws")),
    );
    expect(users.filter((file) => !allowed.test(file))).toEqual([]);
  });

  it("the command line's parts build on one another: app and gateway, then chat and node, then commands", () => {
    const of = (...parts: string[]) => [...parts.map((part) => `cli/${part}`), "shared", "local"];
    const allowed = { gateway: of("app"), chat: of("app", "gateway"), node: of("gateway") };
    for (const [part, rooms] of Object.entries(allowed))
      expect(crossings(`cli/${part}`, (target) => rooms.some((room) => within(target, room)))).toEqual([]);
  });

  it("no files form an import cycle, types included", () => {
    expect(circlesOf(files)).toEqual([]);
  });
});

/** Groups of two or more files that reach one another by imports (Tarjan's strongly connected components). */
function circlesOf(all: readonly string[]): string[][] {
  const known = new Set(all);
  const order = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): number => {
    order.set(file, order.size);
    let low = order.size - 1;
    open.push(file);
    for (const target of importsOf(file)) {
      if (!known.has(target)) continue;
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (open.includes(target)) low = Math.min(low, order.get(target) ?? low);
    }
    if (low === order.get(file)) {
      const circle = open.splice(open.indexOf(file));
      if (circle.length > 1) circles.push(circle);
    }
    return low;
  };
  for (const file of all) if (!order.has(file)) visit(file);
  return circles;
}

const sources = files.filter((file) => !within(file, "test"));

describe("each room has its own responsibility", () => {
  it("providers of models are called only where the call is paid for", () => {
    const using = (name: RegExp) => sources.filter((file) => name.test(readFileSync(file, "utf8"))).sort();
    const folder = "functions/agent/model";
    const [asks, pays] = [`${folder}/ask-model.ts`, `${folder}/paid-call.ts`];
    expect(using(/\.streamSimple\(/)).toEqual([asks, `${folder}/providers.ts`]);
    expect(using(/\baskOnce\b/)).toEqual([asks, pays]);
    expect(using(/\bpaidCall\b/)).toEqual([`${folder}/model.ts`, pays]);
  });

  it("only shared/aws imports the AWS SDK", () => {
    const users = sources.filter((file) => /from "@(aws-sdk|smithy)\//.test(readFileSync(file, "utf8")));
    expect(users.filter((file) => !within(file, "shared/aws"))).toEqual([]);
  });

  it("in what is deployed, only shared/runtime/environment.ts reads the environment", () => {
    const deployed = sources.filter((file) => within(file, "functions") || within(file, "shared"));
    const readers = deployed.filter((file) => readFileSync(file, "utf8").includes("process.env"));
    expect(readers).toEqual(["shared/runtime/environment.ts"]);
  });

  it("no function contains code for local mode", () => {
    const deployed = sources.filter((file) => within(file, "functions") || within(file, "shared"));
    // The address of an agent in its history is agent@localhost everywhere.
    const knowing = deployed.filter((file) =>
      /127\.0\.0\.1|(?<!agent@)localhost|isLocal/.test(readFileSync(file, "utf8")),
    );
    // A program on the user's machine receives its authorization code there (RFC 8252), also from a gateway on AWS.
    expect(knowing).toEqual(["shared/http/redirect-address.ts"]);
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

const sizes = new Map<string, number>();
for (const file of files) sizes.set(dirname(file), (sizes.get(dirname(file)) ?? 0) + 1);
for (const [folder, size] of sizes)
  if (size > manyFiles) process.stderr.write(`warning: ${folder} has ${size} files; is it still one idea?\n`);

describe("a name finds one file", () => {
  it("a file name is unique, except for handlers and the socket's groups of methods", () => {
    const byRule = (file: string) =>
      /^functions\/\w+\/handler\.ts$/.test(file) || within(file, "functions/socket/methods");
    const names = sources.filter((file) => !byRule(file)).map((file) => basename(file));
    const repeated = names.filter((name, index) => names.indexOf(name) !== index);
    expect(repeated).toEqual([]);
  });
});
