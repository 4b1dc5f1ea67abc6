import { describe, expect, it } from "vitest";
import { originsOfResults } from "../../functions/agent/tools/tool-results.ts";
import { fetchedFrom } from "../../shared/origins/fetched-from.ts";
import {
  guestOrigin,
  joinOrigins,
  originsIn,
  originsMetadata,
  unknownOrigin,
  webOrigin,
} from "../../shared/origins/origins.ts";
import type { AssistantMessage } from "../../shared/protocol/messages.ts";
import type { Outcomes } from "../../shared/session/calls.ts";
import { encodeMetadata } from "../../shared/world/object-metadata.ts";

const hosts = (count: number) => Array.from({ length: count }, (_, i) => webOrigin(`host-${i}.example`));

describe("a set of origins", () => {
  it("is sorted, and keeps at most eight of a kind", () => {
    expect(joinOrigins(["web:b"], undefined, ["guest:x/a", "web:b"])).toEqual(["guest:x/a", "web:b"]);
    expect(joinOrigins(hosts(8))).toHaveLength(8);
    expect(joinOrigins(hosts(9), [unknownOrigin])).toEqual([unknownOrigin, "web:*"]);
    expect(joinOrigins(["web:*"], hosts(1))).toEqual(["web:*"]);
  });

  it("survives as metadata of an object, however long the names are", () => {
    const few = joinOrigins(hosts(3), [guestOrigin("signal", "ann, bob\n日本")]);
    expect(originsIn(originsMetadata(few))).toEqual(few);
    const names = Array.from({ length: 8 }, (_, i) => guestOrigin("@@", `${i}${"@".repeat(300)}`));
    const long = originsMetadata(joinOrigins(names, hosts(8), [unknownOrigin]));
    expect(originsIn(long)).toEqual(["guest:*", unknownOrigin, "web:*"]);
    expect(Object.values(encodeMetadata(long)).join("").length).toBeLessThan(1500);
    expect(originsMetadata([])).toEqual({});
  });
});

describe("what a call of a node fetches", () => {
  it.each([
    ["curl -s https://Evil.example:8443/x?y", ["web:evil.example"]],
    ["git clone git@github.com:a/b.git", ["web:github.com"]],
    ["wget ftp://user:pw@files.example/a", ["web:files.example"]],
    ["cd x && gh issue view 3", ["web:gh"]],
    ["npm view left-pad readme", ["web:npm_view"]],
    ["git pull origin main", ["web:git_pull"]],
    ["git pull", ["web:git_pull"]],
    ["cd x && git pull", ["web:git_pull"]],
    ["git -C repo pull origin main", ["web:git_pull"]],
    ["npm --silent view left-pad", ["web:npm_view"]],
    ["cd /tmp\ncurl example.org/page", ["web:curl"]],
    ["set -e\ngh issue view 3 -R a/b", ["web:gh"]],
    ["curl\texample.org", ["web:curl"]],
    ["/usr/bin/curl>out example.org", ["web:curl"]],
    ["bash -c 'curl example.org'", ["web:curl"]],
    ["curl -x http://localhost:1 example.org", ["web:curl"]],
    ["curl http://localhost:1/$(cat x)", ["web:curl"]],
    ["curl -s http://localhost:3000/ && git pull", ["web:git_pull"]],
    ["curl -X POST -d '{\"a\":1}' http://localhost:3000/", []],
    ["cat curl.md src/http/server.ts; which curl", []],
    ["curl http://localhost:3000/a.html?b=c http://127.0.0.1/", []],
    ["npm test && git commit -m ok", []],
  ])("%s: %j", (command, origins) => {
    expect(fetchedFrom("Bash", { command })).toEqual(origins);
  });

  it("is nothing for an address in a file or a search, and any address for another tool", () => {
    const args = { url: "https://evil.example/", content: "https://evil.example/" };
    for (const tool of ["Write", "Edit", "Grep", "Read", "Glob"]) expect(fetchedFrom(tool, args)).toEqual([]);
    expect(fetchedFrom("Browse", args)).toEqual(["web:evil.example"]);
    expect(fetchedFrom("Run", { program: "curl", args: ["example.org"] })).toEqual(["web:curl"]);
  });

  it("counts only for calls that a node answered: those of the gateway say whose words their results contain", () => {
    const [node, own] = ["laptop__Bash", "gsv__WriteFile"].map((name, index) => ({
      ...{ type: "toolCall" as const, id: `c${index}`, name },
      arguments: { command: "curl https://evil.example/" },
    }));
    const outcomes: Outcomes = new Map([
      ["c0", { result: "x" }],
      ["c1", { result: "x", origins: ["machine:desk"] }],
    ]);
    const origins = (call = node) =>
      originsOfResults({ role: "assistant", content: [call] } as unknown as AssistantMessage, outcomes);
    expect(origins(node)).toEqual(["machine:laptop", "web:evil.example"]);
    expect(origins(own)).toEqual(["machine:desk"]);
  });

  it("is found in linear time", () => {
    for (const piece of ["a.", "a@", "a://", " curl", "a:", "git -a ", " git -C x", "git ", "a.b "])
      expect(fetchedFrom("Bash", { command: piece.repeat(200_000) }).length).toBeLessThanOrEqual(1);
  });
});
