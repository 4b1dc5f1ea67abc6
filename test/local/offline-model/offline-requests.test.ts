import { describe, expect, it } from "vitest";
import { type Request, readIntent } from "../../../local/offline-model/offline-requests.ts";

const nodes = ["laptop", "server", "my-mac_local"];

const list = (pattern: string, path?: string): Request => ({
  kind: "list",
  tool: "Glob",
  args: path === undefined ? { pattern } : { pattern, path },
});
const read = (path: string): Request => ({ kind: "read", tool: "Read", args: { path } });
const run = (command: string, background?: true): Request => ({
  kind: "run",
  tool: "Bash",
  args: background ? { command, background } : { command },
});
const recall = (about: string): Request => ({ kind: "recall", about });
const remember = (fact: string): Request => ({ kind: "remember", fact });

describe("the rules understand", () => {
  const sentences: [string, Request][] = [
    ["which files are in this folder?", list("*")],
    ["Which files are in the src folder?", list("*", "src")],
    ["What files do you see here?", list("*")],
    ["list files in src", list("*", "src")],
    ["list the files in the current directory", list("*")],
    ["hey, list all files please", list("**/*")],
    ["list all files in src", list("**/*", "src")],
    ["ls", list("*")],
    ["ls src", list("*", "src")],
    ["list src/*.ts", list("src/*.ts")],
    ["Could you please show me src?", list("*", "src")],
    ["show me src", list("*", "src")],
    ["find *.ts", list("**/*.ts")],

    ["read README.md", read("README.md")],
    ["Read the README", read("README.md")],
    ["show me package.json", read("package.json")],
    ["show me the contents of package.json.", read("package.json")],
    ["what is in package.json?", read("package.json")],
    ["what does notes.txt say?", read("notes.txt")],
    ['read "my notes"', read("my notes")],

    ["run npm test", run("npm test")],
    ["can you run npm test please?", run("npm test")],
    ["execute: date", run("date")],
    ["run date", run("date")],
    ["run npm test in the background", run("npm test", true)],
    ["$ echo in the background", run("echo in the background")],
    ["$ uname -a", run("uname -a")],
    ["$ echo please?", run("echo please?")],
    ["run `npm test`", run("npm test")],
    ["run ```sh\necho one\necho two\n```", run("echo one\necho two")],
    ["run echo hello on stage", run("echo hello on stage")],
    ["ls -la", run("ls -la")],
    ["what time is it?", run("date")],
    ["git status", run("git status")],

    ["remember that the bins go out on Monday", remember("the bins go out on Monday")],
    ["Remember: my name\nis Ann", remember("my name is Ann")],
    ["don't forget that I like tea", remember("I like tea")],
    ["what do you remember?", recall("everything")],
    ["what do you know about me?", recall("me")],
    ["do you remember my name?", recall("my name")],
    ["what do I like?", recall("like")],
    ["what is my name?", recall("name")],

    ["list nodes", { kind: "nodes" }],
    ["which nodes are connected?", { kind: "nodes" }],
    ["hello", { kind: "help" }],
    ["thanks!", { kind: "help" }],
    ["what can you do?", { kind: "help" }],
  ];
  it.each(sentences)("%j", (text, request) => {
    expect(readIntent(text, nodes)).toEqual({ request });
  });
});

describe("the rules find the node in", () => {
  const sentences: [string, Request, string][] = [
    ["on laptop list files", list("*"), "laptop"],
    ["On the server, which files are in src?", list("*", "src"), "server"],
    ["list files on laptop", list("*"), "laptop"],
    ["run date on the server", run("date"), "server"],
    ["on My-Mac.local ls", list("*"), "My-Mac.local"],
    ["on phone list files", list("*"), "phone"],
  ];
  it.each(sentences)("%j", (text, request, on) => {
    expect(readIntent(text, nodes)).toEqual({ request, on });
  });
});

describe("the rules leave alone", () => {
  it.each([
    "tell me a joke",
    "write a poem about cats",
    "What is the meaning of life?",
    "on second thought, tell me a joke",
    "list three reasons to love cats",
    "where is the love",
    "git is a version control system",
    "running late today",
    "",
    `read ${"x".repeat(5000)}`,
  ])("%j", (text) => {
    expect(readIntent(text, nodes)).toEqual({ request: { kind: "unknown" } });
  });
});
