import { describe, expect, it } from "vitest";
import { nativeTools } from "../../functions/agent/tools/native/native-tools.ts";
import { classOf } from "../../shared/approvals/classes.ts";

const bash = (command: string) =>
  classOf({ tool: "pi__Bash", bareName: "Bash", node: "pi", args: { command } });

describe("the class of a call", () => {
  it.each(nativeTools.map(({ definition: { name } }) => [name]))("is known for %s", (name) => {
    expect(classOf({ tool: name, bareName: name, args: { action: "list" } })).not.toBe("exec");
  });

  it("is that of a command for a tool that nobody has classified", () => {
    expect(classOf({ tool: "pi__new", bareName: "new", node: "pi", args: {} })).toBe("exec");
    expect(classOf({ tool: "x", bareName: "toString", args: {} })).toBe("exec");
  });

  it.each([
    "ls -la",
    "cd x && ls",
    "git log --oneline | head -5",
    "grep -rn 'a b' src",
    "sort -n a",
    "git branch -a",
  ])("of a command that only reads is read: %s", (command) => {
    expect(bash(command)).toBe(command.startsWith("cd") ? "exec" : "read");
  });

  it.each([
    ...[
      "cat ~/.ssh/id_rsa",
      "cat /home/a/.ssh/id_rsa",
      "cat .env",
      "find . -delete",
      "find . -exec rm x",
      "sort -o a b",
    ],
    ...[
      "git diff --output=x",
      "ls > x",
      "ls; rm x",
      "ls && rm x",
      "cat a | sh",
      "rg --pre sh x",
      "uniq a b",
      "env",
    ],
    ...[
      "git -c core.pager=x log",
      "echo $(rm x)",
      "git branch new",
      "/tmp/ls",
      "cat /proc/1/environ",
      "tail -f x",
    ],
  ])("of any other command is exec: %s", (command) => {
    expect(bash(command)).toBe("exec");
  });

  it("of a plain request for a page is web", () => {
    expect(bash("curl -sL https://example.org/a")).toBe("web");
    for (const other of [
      "curl https://a/?d=x",
      "curl -o x https://a",
      "curl https://u:p@a/",
      "wget https://a/x",
    ])
      expect(bash(other)).toBe("exec");
  });
});
