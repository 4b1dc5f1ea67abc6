import { expect, it } from "vitest";
import { fetchOverSockets } from "./in-process-fetch.ts";
import { startNearFunctionUrl } from "./near-function-url.ts";
import { serveWhole, type WholeReply, type WholeRequest } from "./whole-requests.ts";

const post = { method: "POST", headers: { "X-Given": "a" }, body: '{"text":"ä"}' };
const requests: Record<string, RequestInit> = { "a question": {}, "a text": post };

/** What the client sees of an answer. */
async function shown(answered: Promise<Response>) {
  const response = await answered;
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
}

it.each<WholeReply>([
  { status: 200, body: { text: "ä" }, headers: { "x-more": "b" } },
  { status: 502, body: "<html>" },
  { status: 200, body: Buffer.from([1, 2]), headers: { "content-type": "image/png" } },
  { status: 204 },
])("an answer is the same as over a connection: %o", async (reply) => {
  const asked: WholeRequest[] = [];
  const { origin, close } = await serveWhole(async (request) => {
    asked.push(request);
    return reply;
  });
  for (const init of Object.values(requests)) {
    const here = await shown(fetch(`${origin}/a%20b?c=d`, init));
    expect(here).toEqual(await shown(fetchOverSockets(`${origin}/a%20b?c=d`, init)));
    const [near, far] = asked.splice(0);
    expect(far).toEqual({ ...near, headers: expect.objectContaining(near?.headers ?? {}) });
  }
  await close();
});

it("a broken connection fails as a real one does", async () => {
  const { origin, close } = await serveWhole(async () => undefined);
  for (const over of [fetch, fetchOverSockets])
    await expect(over(origin)).rejects.toMatchObject({
      message: "fetch failed",
      cause: { code: "UND_ERR_SOCKET" },
    });
  await close();
});

it("a function is given the same event, and its answer is the same, as over a connection", async () => {
  const events: { headers: object; requestContext: object }[] = [];
  const { url, close } = await startNearFunctionUrl({
    async invoke(event) {
      events.push(event as (typeof events)[number]);
      return { statusCode: 201, headers: { "x-more": "b" }, cookies: ["a=1", "b=2"], body: "done" };
    },
  });
  for (const init of [...Object.values(requests), { ...post, body: "x".repeat(1_000_001) }]) {
    const here = await shown(fetch(`${url}/a%20b?c=d&c=e`, init));
    expect(here).toEqual(await shown(fetchOverSockets(`${url}/a%20b?c=d&c=e`, init)));
    const [near, far] = events.splice(0);
    const of = (event: object | undefined) => ({ ...event, headers: {}, requestContext: {} });
    expect(of(near)).toEqual(of(far));
    expect(far?.headers).toMatchObject(near?.headers ?? {});
  }
  await close();
});
