import { describe, expect, it } from "vitest";
import { type Intent, readIntent } from "../../../local/offline-model/intents.ts";

const nodes = ["laptop", "server", "my-mac_local"];
type Wish = Intent["wish"];

const list = (pattern: string, path?: string): Wish => ({ kind: "list", pattern, path });
const read = (...paths: string[]): Wish => ({ kind: "read", paths });
const run = (command: string, workdir?: string): Wish => ({ kind: "run", command, workdir });
const search = (term: string, rest: object = {}) =>
  ({ kind: "search", term, pattern: term, ...rest }) as Wish;
const remember = (fact: string): Wish => ({ kind: "remember", fact });

describe("the rules understand", () => {
  const sentences: [string, Wish][] = [
    ["which files are in this folder?", list("*")],
    ["Which files are in the src folder?", list("*", "src")],
    ["What files do you see here?", list("*")],
    ["list files in src", list("*", "src")],
    ["list the files in the current directory", list("*")],
    ["hey, list all files please", list("**/*")],
    ["ls", list("*")],
    ["ls src", list("*", "src")],
    ["list src recursively", list("**/*", "src")],
    ["list *.md files in docs", list("*.md", "docs")],
    ["list typescript files", list("**/*.ts")],
    ["list src/*.ts", list("src/*.ts")],
    ["Could you please show me what's in src?", list("*", "src")],
    ["show me src", list("*", "src")],
    ["find *.ts", list("**/*.ts")],
    ["where is package.json?", list("**/package.json")],
    ["find files named config.toml in src", list("**/config.toml", "src")],

    ["read README.md", read("README.md")],
    ["Read the README", read("README.md")],
    ["show me package.json", read("package.json")],
    ["show me the contents of package.json.", read("package.json")],
    ["what is in package.json?", read("package.json")],
    ["what does notes.txt say?", read("notes.txt")],
    ['read "my notes"', read("my notes")],
    ["cat a.md and b.md", read("a.md", "b.md")],
    ["show me the first 20 lines of a.ts", { kind: "read", paths: ["a.ts"], offset: 0, limit: 20 }],
    ["lines 10-20 of src/a.ts", { kind: "read", paths: ["src/a.ts"], offset: 9, limit: 11 }],

    ["search for TODO", search("TODO")],
    ["search for TODO in src", search("TODO", { path: "src" })],
    ["search src for TODO", search("TODO", { path: "src" })],
    ['find "foo" in src', search("foo", { path: "src" })],
    ['find "foo in bar" in src', search("foo in bar", { path: "src" })],
    ["where is startServer defined?", search("startServer")],
    ["grep a.b", search("a.b", { pattern: "a\\.b" })],
    ["search for /foo.*bar/ in *.ts files", search("foo.*bar", { include: "*.ts" })],
    ["search for mentions of lease in typescript files", search("lease", { include: "*.ts" })],
    ["which files contain lease?", search("lease")],
    ["search for on", search("on")],

    ["run npm test", run("npm test")],
    ["can you run npm test please?", run("npm test")],
    ["execute: date", run("date")],
    ["$ uname -a", run("uname -a")],
    ["$ echo please?", run("echo please?")],
    ["run `npm test` in packages/a", run("npm test", "packages/a")],
    ["run ls .", run("ls .")],
    ["run echo hello on stage", run("echo hello on stage")],
    ["ls -la", run("ls -la")],
    ["what time is it?", run("date")],
    ["git status", run("git status")],

    ["remember that the bins go out on Monday", remember("the bins go out on Monday")],
    ["Remember: my name\nis Ann", remember("my name is Ann")],
    ["don't forget that I like tea", remember("I like tea")],
    ["what do you remember?", { kind: "recall" }],
    ["what do you know about me?", { kind: "recall" }],
    ["do you remember my name?", { kind: "recall", about: "my name" }],

    ["list nodes", { kind: "nodes" }],
    ["thanks!", { kind: "help" }],
    ["what can you do?", { kind: "help" }],
  ];
  it.each(sentences)("%j", (text, wish) => {
    expect(readIntent(text, nodes)).toEqual({ wish, on: [] });
  });
});

describe("the rules find the nodes in", () => {
  const sentences: [string, Wish, Intent["on"]][] = [
    ["on laptop list files", list("*"), ["laptop"]],
    ["on laptop, list files", list("*"), ["laptop"]],
    ["On the server, which files are in src?", list("*", "src"), ["server"]],
    ["list files on laptop", list("*"), ["laptop"]],
    ["read notes.txt on server", read("notes.txt"), ["server"]],
    ["on My-Mac.local ls", list("*"), ["My-Mac.local"]],
    ["run date on laptop and server", run("date"), ["laptop", "server"]],
    ["on laptop and server run date", run("date"), ["laptop", "server"]],
    ["on every machine: run uptime", run("uptime"), "all"],
    ["run date on all nodes", run("date"), "all"],
    ["on phone list files", list("*"), ["phone"]],
    ["list files on phone", list("*"), ["phone"]],
  ];
  it.each(sentences)("%j", (text, wish, on) => {
    expect(readIntent(text, nodes)).toEqual({ wish, on });
  });
});

describe("the rules leave alone", () => {
  it.each([
    "tell me a joke",
    "write a poem about cats",
    "What is the meaning of life?",
    "on second thought, tell me a joke",
    "list three reasons to love cats",
    "git is a version control system",
    "running late today",
    "",
  ])("%j", (text) => {
    expect(readIntent(text, nodes)).toEqual({ wish: { kind: "unknown" }, on: [] });
  });

  it("what is too long for a request", () => {
    expect(readIntent(`read ${"x".repeat(5000)}`, nodes).wish).toEqual({ kind: "unknown" });
  });
});
