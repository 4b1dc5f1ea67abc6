import { describe, expect, it } from "vitest";
import { audienceOf, checkReadable, checkWritable } from "../../shared/workspace/privacy.ts";

describe("private memory", () => {
  const readable = (kind: string, path: string) => {
    try {
      checkReadable(audienceOf(kind), path);
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: 403 });
      return false;
    }
  };

  it("is all readable in the main session", () => {
    for (const path of ["MEMORY.md", "memory/2026-01-01.md", "sessions/x.txt"]) {
      expect(readable("main", path)).toBe(true);
    }
  });

  it("is readable in a direct message and a named session, but for MEMORY.md", () => {
    for (const kind of ["dm", "named"]) {
      expect(readable(kind, "memory/2026-01-01.md")).toBe(true);
      expect(readable(kind, "MEMORY.md")).toBe(false);
    }
  });

  it("is not readable where several people read along, nor in a kind of session nobody knows", () => {
    for (const kind of ["group", "channel", "thread", "broadcast", ""]) {
      for (const path of [
        "MEMORY.md",
        "/MEMORY.md",
        "memory.md",
        "memory",
        "memory/2026-01-01.md",
        "sessions/x.txt",
        "USER.md",
        "HEARTBEAT.md",
        "/heartbeat.md",
      ]) {
        expect(readable(kind, path), `${kind} ${path}`).toBe(false);
      }
      for (const path of ["SOUL.md", "memory.txt", "memories/a.md", "notes/MEMORY.md"]) {
        expect(readable(kind, path), `${kind} ${path}`).toBe(true);
      }
    }
  });
});

describe("what every prompt holds", () => {
  const writable = (kind: string, path: string) => {
    try {
      checkWritable(audienceOf(kind), path);
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: 403 });
      return false;
    }
  };
  const loaded = [
    "SOUL.md",
    "soul.md",
    "AGENTS.md",
    "HEARTBEAT.md",
    "skills/tea/SKILL.md",
    "Skills/tea/SKILL.md",
  ];

  it("is not changed from where several people write, which other files are", () => {
    for (const kind of ["group", "channel", "thread", "broadcast"]) {
      for (const path of [...loaded, "MEMORY.md", "memory/2026-01-01.md"])
        expect(writable(kind, path), `${kind} ${path}`).toBe(false);
      for (const path of ["notes.md", "notes/SOUL.md", "skills.md"])
        expect(writable(kind, path), `${kind} ${path}`).toBe(true);
    }
  });

  it("is changed in a conversation with one person", () => {
    for (const kind of ["main", "dm", "named"])
      for (const path of loaded) expect(writable(kind, path), `${kind} ${path}`).toBe(true);
  });
});
