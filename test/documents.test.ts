import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CommandEntry } from "../cli/app/program.ts";
import { commands } from "../cli/commands/command-table.ts";
import { nativeTools } from "../functions/agent/tools/native/native-tools.ts";
import { channels } from "../shared/channels/channels.ts";
import { events } from "../shared/protocol/events.ts";
import { methods } from "../shared/protocol/methods.ts";
import { metadataNames } from "../shared/world/world.ts";

const list = ["ls-files", "--cached", "--others", "--exclude-standard", "--"];
const tracked = (...rooms: string[]) =>
  execFileSync("git", [...list, ...rooms], { encoding: "utf8" })
    .split("\n")
    .filter(existsSync);
const textOf = (file: string) => readFileSync(file, "utf8");

const isCode = (file: string) => /\.m?ts$/.test(file);
const sources = tracked("cli", "functions", "infra", "local", "shared").filter(isCode);
const deployed = sources.filter((file) => /^(functions|shared)\//.test(file));
const protocol = textOf("docs/reference/protocol.md");
const layout = textOf("docs/reference/storage-layout.md");

describe("a document that comments cite", () => {
  const citations = sources.flatMap((file) =>
    [...textOf(file).matchAll(/docs\/[\w/-]+\.md(?:,[\s*]*"([^"]+)")?/g)].map(([whole, heading]) => ({
      file,
      document: whole.split(",")[0] ?? "",
      // A comment may break the line within the heading.
      heading: heading?.replace(/\s*\n\s*\*\s*/g, " "),
    })),
  );

  it("exists", () => {
    expect(citations.length).toBeGreaterThan(10);
    expect(citations.filter(({ document }) => !existsSync(document))).toEqual([]);
  });

  it("has the heading that is cited", () => {
    const headed = citations.filter(({ heading }) => heading !== undefined);
    const missing = headed.filter(
      ({ document, heading = "" }) =>
        !textOf(document)
          .split("\n")
          .some((line) => /^#+ /.test(line) && line.includes(heading)),
    );
    expect(missing).toEqual([]);
  });
});

/** The comment lines of a source file. A comment after code on the same line is ignored. */
const commentsOf = (file: string) =>
  textOf(file)
    .split("\n")
    .filter((line) => /^\s*(\/?\*|\/\/)/.test(line))
    .join("\n");

describe("files and folders of this project", () => {
  const documents = tracked("*.md");
  const path = /(?<![\w./-])(?:cli|docs|examples|functions|infra|local|shared|test)(?:\/[\w.-]*\w)+/g;
  const missing = (files: readonly string[], namesOf: (file: string) => Iterable<string>) =>
    files.flatMap((file) =>
      [...namesOf(file)].filter((name) => !existsSync(name)).map((name) => `${file} names ${name}`),
    );

  it("that a document names exist", () => {
    const code = /`([^`\n]+)`/g;
    const found = missing(documents, (file) =>
      [...textOf(file).matchAll(code)].flatMap(([, quoted = ""]) => quoted.match(path) ?? []),
    );
    expect(documents.length).toBeGreaterThan(20);
    expect(found).toEqual([]);
  });

  it("that a document names without their folder exist", () => {
    const names = new Set(tracked(".").map((file) => file.slice(file.lastIndexOf("/") + 1)));
    const bare = /`([\w-]+(?:\.test)?\.m?ts)`/g;
    const found = documents.flatMap((file) =>
      [...textOf(file).matchAll(bare)].map(([, name = ""]) => name).filter((name) => !names.has(name)),
    );
    expect(found).toEqual([]);
  });

  it("that a document links to exist", () => {
    const link = /\]\((?!https?:|#)([^)#\s]+)/g;
    const found = missing(documents, (file) =>
      [...textOf(file).matchAll(link)].map(([, target = ""]) => join(dirname(file), target)),
    );
    expect(found).toEqual([]);
  });

  it("that a document links to have the heading of the link", () => {
    /** The anchor that GitHub makes of a heading. */
    const anchorOf = (heading: string) =>
      heading
        .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_ -]/gu, "")
        .trim()
        .replaceAll(" ", "-");
    const anchorsOf = (file: string) =>
      [...textOf(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));
    const found = documents.flatMap((file) =>
      [...textOf(file).matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)]
        .filter(([, target = "", anchor = ""]) => {
          const linked = target === "" ? file : join(dirname(file), target);
          return !anchorsOf(linked).includes(anchor);
        })
        .map(([, target, anchor]) => `${file} links to ${target}#${anchor}`),
    );
    expect(found).toEqual([]);
  });

  it("that a comment names exist", () => {
    const commented = [...sources, ...tracked("test").filter(isCode)];
    const found = missing(commented, (file) =>
      (commentsOf(file).match(path) ?? []).filter((name) => /\.(m?ts|md)$/.test(name)),
    );
    expect(commented.length).toBeGreaterThan(300);
    expect(found).toEqual([]);
  });
});

describe("docs/README.md", () => {
  it("links to every page of docs, and the README to it", () => {
    const index = "docs/README.md";
    const pages = tracked("docs/*.md").filter((file) => file !== index);
    const links = [...textOf(index).matchAll(/\]\(([^)#]+\.md)\)/g)].map(([, link = ""]) =>
      join("docs", link),
    );
    expect(pages.filter((page) => !links.includes(page))).toEqual([]);
    expect(textOf("README.md")).toContain(`](${index})`);
  });
});

describe("docs", () => {
  it("has at most 45,000 words", () => {
    const words = tracked("docs/*.md").flatMap((file) => textOf(file).match(/\S+/g) ?? []);
    expect(words.length).toBeLessThanOrEqual(45_000);
    expect(words.length).toBeGreaterThan(20_000);
  });
});

describe("docs/architecture.md", () => {
  const parents = ["shared", "functions", "functions/*", "cli", "cli/commands", "local", "infra"];
  const levels = parents.map((parent) => new RegExp(`^${parent.replace("*", "[^/]+")}/[^/]+(?=/)`));

  it("has a line in its map for every folder, and for no other", () => {
    const folders = tracked("shared", "functions", "cli", "local", "infra").flatMap((file) =>
      levels.flatMap((level) => file.match(level) ?? []),
    );
    const map = textOf("docs/architecture.md").split("## Map")[1] ?? "";
    const named = [...map.matchAll(/^- `([^`]+)`:/gm)].map(([, folder = ""]) => folder);
    expect(named.sort()).toEqual([...new Set(folders)].sort());
  });
});

describe("docs/operations.md", () => {
  it("names only events that a function logs", () => {
    const code = deployed.map(textOf).join("\n");
    const table = textOf("docs/operations.md").split("## What to count")[1]?.split("\n## ")[0] ?? "";
    const named = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([a-z.]+)`/g)].map(([, name = ""]) => name),
    );
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((name) => !code.includes(`"${name}"`))).toEqual([]);
  });
});

describe("docs/reference/protocol.md", () => {
  it("names every method, every event and every native tool", () => {
    const names = [...methods, ...events, ...nativeTools.map((tool) => tool.definition.name)];
    expect(names.filter((name) => !new RegExp(`(\`|^## )${name}\\b`, "m").test(protocol))).toEqual([]);
  });

  it("has a row for every method, and for no other", () => {
    const section = protocol.split("## Methods")[1]?.split("\n## ")[0] ?? "";
    const named = [...section.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([a-z]+(?:\.[a-z]+)+)`/g)].map(([, name]) => name),
    );
    expect(named.sort()).toEqual(methods.filter((name) => name !== "connect").sort());
  });
});

describe("docs/reference/command-line.md", () => {
  const lines = (entries: readonly CommandEntry[], before: readonly string[] = []): string[] =>
    entries.flatMap(({ name, summary, load, commands: below = [] }) => {
      const line = `- \`gsv ${[...before, name].join(" ")}\`: ${summary}`;
      return [...(load ? [line] : []), ...lines(below, [...before, name.split(" ")[0] ?? ""])];
    });

  it("has a line for every command, in the order and the words of its help, and no other", () => {
    const list = textOf("docs/reference/command-line.md").split("## Commands")[1]?.split("\n## ")[0] ?? "";
    expect(list.split("\n").filter((line) => line.startsWith("- `gsv "))).toEqual(lines(commands));
  });
});

describe("a channel", () => {
  const names = Object.keys(channels);

  it("has a chapter in docs/channels.md", () => {
    const headings = textOf("docs/channels.md").match(/^## .*$/gm) ?? [];
    expect(names.filter((name) => !headings.some((line) => line.toLowerCase() === `## ${name}`))).toEqual([]);
  });

  it("is named by the help of `gsv channel`", () => {
    const summary =
      commands.find(({ name }) => name.split(" ")[0] === "channel")?.summary.toLowerCase() ?? "";
    expect(names.filter((name) => !summary.includes(name))).toEqual([]);
  });
});

describe("docs/reference/storage-layout.md", () => {
  const code = deployed.map(textOf).join("\n");

  it("names every partition of the table that the functions write", () => {
    const keys = [...code.matchAll(/(?:pk: |partition = |Partition = |partitionOf = .*=> )["`]([A-Z]+#?)/g)];
    const partitions = [...new Set(keys.map(([, name = ""]) => name))];
    expect(partitions.length).toBeGreaterThan(12);
    expect(partitions.filter((name) => !layout.includes(`\`${name}`))).toEqual([]);
  });

  it("names every folder under payloads/ that the functions use", () => {
    const folders = new Set([...code.matchAll(/payloads\/(\w+)\//g)].map(([whole]) => whole));
    expect(folders.size).toBe(6);
    expect([...folders].filter((folder) => !layout.includes(`\`${folder}`))).toEqual([]);
  });

  it("names every name of metadata", () => {
    expect(metadataNames.filter((name) => !layout.includes(`\`${name}\``))).toEqual([]);
  });

  it("names code that exists", () => {
    const named = [...layout.matchAll(/`((?:functions|shared|docs)\/[\w/.-]+)`/g)].map(
      ([, file = ""]) => file,
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((file) => !existsSync(join(file)))).toEqual([]);
  });
});
