import { describe, expect, it } from "vitest";
import { audienceOf, checkReadable, checkWritable, visibleListing } from "../../shared/workspace/privacy.ts";
import { filePath, isPromptPath } from "../../shared/workspace/workspace-paths.ts";

/** Whether the check lets this kind of session do it. */
const allowed = (check: typeof checkReadable, kind: string, path: string) => {
  try {
    check(audienceOf(kind), path);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 403 });
    return false;
  }
};
const readable = (kind: string, path: string) => allowed(checkReadable, kind, path);
const writable = (kind: string, path: string) => allowed(checkWritable, kind, path);

const sharedKinds = ["group", "channel", "thread", "broadcast", "guest", "__proto__", ""];
const common = [
  "SOUL.md",
  "soul.md",
  "/IDENTITY.md",
  "AGENTS.md",
  "skills",
  "skills/tea/SKILL.md",
  "shared/list.md",
];
const owner = ["USER.md", "user.md", "/USER.md", "BOOTSTRAP.md"];
const notes = [
  "memory",
  "memory/",
  "memory/2026-01-01.md",
  "/Memory/2026-01-01.md",
  "memory/shared/2026-01-01.md",
];
const longTerm = ["MEMORY.md", "memory.md", "/MEMORY.md", "DREAMS.md", "dreams.md"];
const conversations = ["sessions", "sessions/x.txt", "Sessions/x/messages/1.json"];
const internal = [".git/HEAD", ".git", "recall/s/x.json.gz", "objects/ab", "/Objects/ab"];
const others = [
  "TOOLS.md",
  "HEARTBEAT.md",
  "notes.md",
  "notes/SOUL.md",
  "memory.txt",
  "memories/a.md",
  "anything-new.md",
];

describe("the files that a session may read", () => {
  it("C2: are an allow list where several people read along, a guest or a kind of session that nobody knows", () => {
    for (const kind of sharedKinds) {
      for (const path of common) expect(readable(kind, path), `${kind} ${path}`).toBe(true);
      for (const path of [...owner, ...notes, ...longTerm, ...conversations, ...internal, ...others])
        expect(readable(kind, path), `${kind} ${path}`).toBe(false);
    }
  });

  it("I6: hold MEMORY.md and DREAMS.md in the main session alone, and so the archives of all conversations", () => {
    for (const path of [...longTerm, ...conversations]) {
      expect(readable("main", path), path).toBe(true);
      for (const kind of ["named", "cron", "system", "dm", ...sharedKinds])
        expect(readable(kind, path), `${kind} ${path}`).toBe(false);
    }
  });

  it("C1: hold USER.md in the owner's own sessions, not in the direct messages of a messenger", () => {
    for (const path of owner) {
      for (const kind of ["main", "named", "cron", "system"])
        expect(readable(kind, path), `${kind} ${path}`).toBe(true);
      expect(readable("dm", path), path).toBe(false);
    }
  });

  it("C6, I8: hold daily notes, which are under memory/, and any other file where one person alone reads", () => {
    for (const kind of ["main", "named", "cron", "system", "dm"])
      for (const path of [...common, ...notes, ...others])
        expect(readable(kind, path), `${kind} ${path}`).toBe(true);
  });

  it("never hold what the gateway keeps there for itself", () => {
    for (const path of internal) {
      expect(readable("main", path), path).toBe(false);
      expect(writable("main", path), path).toBe(false);
    }
  });

  it("are judged by what a tolerant file system would open, not by how the path is written", () => {
    const forms = (path: string) => [
      ...[`./${path}`, `//${path}`, `shared/../${path}`, `notes/.././${path}`, `skills//../${path}`],
      ...[path.toUpperCase(), path.replace("e", "\uff45"), path.replace("o", "o\u200b")],
      ...[path.replace("s", "\u017f"), path.replaceAll("/", "\\")],
    ];
    for (const path of ["MEMORY.md", "memory/2026-01-01.md", "USER.md", "sessions/x.txt"])
      for (const form of forms(path)) {
        expect(readable("group", form), form).toBe(false);
        expect(writable("dm", form), form).toBe(path.startsWith("memory/"));
      }
    for (const form of forms("objects/ab")) expect(writable("main", form), form).toBe(false);
    for (const form of forms("SOUL.md")) expect(isPromptPath(form), form).toBe(true);
    for (const path of ["../main/SOUL.md", "shared/../../x", "/../x", "..\\x"]) {
      expect(readable("group", path), path).toBe(false);
      expect(() => filePath(path), path).toThrow("path: must not contain");
    }
    expect(writable("group", "shared/../SOUL.md")).toBe(false);
  });

  it("are those that a listing shows", () => {
    const listing = {
      path: "/",
      files: ["DREAMS.md", "MEMORY.md", "SOUL.md", "TOOLS.md", "USER.md", "a-private-name.md"],
      directories: [".git/", "memory/", "notes/", "sessions/", "shared/", "skills/"],
    };
    expect(readable("group", "")).toBe(true);
    expect(visibleListing("shared", listing)).toEqual({
      path: "/",
      files: ["SOUL.md"],
      directories: ["shared/", "skills/"],
    });
    expect(visibleListing("main", listing)).toEqual({
      ...listing,
      directories: ["memory/", "notes/", "sessions/", "shared/", "skills/"],
    });
  });
});

describe("the files that a session may change", () => {
  it("lie under shared/ alone where several people write", () => {
    for (const kind of sharedKinds) {
      for (const path of ["shared/list.md", "/Shared/list.md"])
        expect(writable(kind, path), `${kind} ${path}`).toBe(true);
      for (const path of [
        "SOUL.md",
        "skills/tea/SKILL.md",
        "Skills/x",
        "shared",
        "MEMORY.md",
        "notes.md",
        "USER.md",
      ])
        expect(writable(kind, path), `${kind} ${path}`).toBe(false);
    }
  });

  it("are those that it may read, in a conversation with one person", () => {
    for (const kind of ["main", "named", "dm"])
      for (const path of [...common, ...notes, ...others]) expect(writable(kind, path), path).toBe(true);
    for (const path of [...owner, ...longTerm]) {
      expect(writable("main", path), path).toBe(true);
      expect(writable("dm", path), path).toBe(false);
    }
  });
});
