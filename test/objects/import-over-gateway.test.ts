import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Message } from "../../shared/protocol/messages.ts";
import type { MemoryObject } from "../../shared/protocol/objects.ts";
import type { ExportPage } from "../../shared/protocol/results.ts";
import { channel, type Household, openHousehold } from "../security/household.ts";

let house: Household;
let lines: string;
const admin = <T>(method: string, params: object) => house.peers.admin.call<T>(method, params);
const messagesOf = async (sessionKey: string) =>
  (await admin<{ messages: Message[] }>("session.preview", { sessionKey })).messages;
const objectOf = (sessionKey: string, id: string) => admin<MemoryObject>("object.get", { sessionKey, id });

beforeAll(async () => {
  house = await openHousehold();
  await admin("workspace.write", { path: "SOUL.md", content: "the soul" });
  await house.say(house.peers.admin, "agent:main:main", "what is my name? Kate");
  await house.say(house.peers.admin, "agent:main:main", 'call gsv__ReadFile {"path":"SOUL.md"}');
  lines = (await admin<ExportPage>("session.export", { sessionKey: "main", format: "turns" })).text;
});
afterAll(() => house.close());

const importInto = (sessionKey: string, importId: string = randomUUID()) =>
  house.peers.client.request("session.import", { sessionKey, importId, format: "turns", lines });

describe("a conversation that is exported and imported", () => {
  it("M45: is the same conversation in another session, and goes on there", async () => {
    const importId = randomUUID();
    const { payload } = await importInto("copy", importId);
    expect(payload).toEqual({ ok: true, sessionKey: "agent:main:copy", sessionId: importId, messages: 6 });
    expect(await messagesOf("agent:main:copy")).toEqual(await messagesOf("agent:main:main"));
    await house.say(house.peers.admin, "agent:main:copy", "and now?");
    const texts = house.lastRequest().turns.map(({ text }) => text);
    expect(texts.slice(0, 2)).toEqual(["what is my name? Kate", "heard: what is my name? Kate"]);
    expect(texts.at(-1)).toBe("and now?");
  });

  it("M5: has objects with the same content and metadata, by the same ids", async () => {
    await importInto("twin");
    const [main, twin] = ["agent:main:main", "agent:main:twin"];
    const { objects } = await admin<{ objects: MemoryObject[] }>("object.list", {
      sessionKey: main,
      type: "toolcall",
    });
    expect(objects).toHaveLength(1);
    for (const { id } of objects) {
      const [there, here] = [await objectOf(main, id), await objectOf(twin, id)];
      expect(here).toMatchObject({
        content: there.content,
        content_hash: there.content_hash,
        metadata_view_hash: there.metadata_view_hash,
      });
      expect(here.content_hash).toMatch(/^[0-9a-f]{64}$/);
    }
    const chatOf = async (sessionKey: string) => {
      const all = await admin<{ objects: MemoryObject[] }>("object.list", { sessionKey, type: "chat" });
      return objectOf(sessionKey, all.objects[0]!.id);
    };
    expect((await chatOf(twin)).content_hash).toBe((await chatOf(main)).content_hash);
  });

  it("is refused in a conversation with others, in one that has messages, and with lines that are wrong", async () => {
    for (const sessionKey of [`agent:main:${channel}:group:garden`, `agent:main:${channel}:guest:gus`])
      expect(await importInto(sessionKey), sessionKey).toMatchObject({ ok: false, error: { code: 400 } });
    expect(await importInto("main")).toMatchObject({ ok: false, error: { code: 409 } });
    const wrong = { sessionKey: "new", importId: randomUUID(), format: "pi", lines: '{"role":"user"}' };
    expect(await house.peers.client.request("session.import", wrong)).toMatchObject({
      ok: false,
      error: { code: 400, message: expect.stringMatching(/line 1: content/) },
    });
    expect(await importInto("new", "no-uuid")).toMatchObject({ ok: false, error: { code: 400 } });
  });
});
