import { describe, expect, it } from "vitest";
import { describeHost, nodeTools } from "../../../cli/node/tools/offered.ts";
import { toolBench } from "./tool-bench.ts";

const { call } = toolBench();

describe("the tools of a node", () => {
  it("are announced with a schema, a description and known capabilities each", () => {
    const host = describeHost({ PATH: "/bin", GSV_TOKEN: "secret", HOME: "/root" }, "linux");
    expect(nodeTools.map((tool) => tool.definition.name)).toEqual([
      "Bash",
      "Process",
      "Read",
      "Write",
      "Edit",
      "Glob",
      "Grep",
    ]);
    for (const { definition } of nodeTools) {
      expect(definition.inputSchema).toMatchObject({ type: "object", required: expect.any(Array) });
      expect(definition.description.length).toBeGreaterThan(40);
    }
    expect(host.hostRole).toBe("execution");
    expect([...host.hostCapabilities].sort()).toEqual([
      "filesystem.edit",
      "filesystem.list",
      "filesystem.read",
      "filesystem.write",
      "shell.exec",
      "text.search",
    ]);
    expect(Object.keys(host.toolCapabilities)).toHaveLength(7);
    expect(host.hostEnv).toEqual(["HOME", "PATH"]);
  });

  const wrong: [string, unknown, string][] = [
    ["Bash", { command: "" }, "Bash: command must be a non-empty string"],
    ["Bash", { command: 3 }, "Bash: command must be a non-empty string"],
    ["Bash", "ls", "Bash: the arguments must be an object"],
    ["Bash", { command: "true", timeout: "5" }, "Bash: timeout must be an integer from 1 to 2147483647"],
    ["Bash", { command: "true", yieldMs: 5 }, "Bash: yieldMs must be an integer from 10 to 120000"],
    ["Bash", { command: "true", background: "yes" }, "Bash: background must be true or false"],
    ["Process", { action: "stop" }, "Process: action must be one of list, poll, log, write, submit, kill"],
    ["Process", { action: "poll" }, "Process: sessionId must be a non-empty string"],
    ["Process", { action: "poll", sessionId: "s" }, "Process: no session s; action list shows the sessions"],
    ["Read", undefined, "Read: path must be a non-empty string"],
    ["Read", { path: "a", offset: -1 }, "Read: offset must be an integer from 0 to 9007199254740991"],
    ["Write", { path: "a" }, "Write: content must be a string"],
    ["Edit", { path: "a", oldString: "", newString: "b" }, "Edit: oldString must be a non-empty string"],
    ["Edit", { path: "a", oldString: "b", newString: "b" }, "Edit: newString must differ from oldString"],
    ["Glob", { pattern: "{a" }, 'Glob: invalid pattern: Missing closing: "}"'],
    ["Grep", { pattern: "(" }, "Grep: pattern is not a regular expression"],
  ];
  it.each(wrong)("%s refuses %j with the reason", async (tool, args, message) => {
    await expect(call(tool, args)).rejects.toThrow(message);
  });
});
