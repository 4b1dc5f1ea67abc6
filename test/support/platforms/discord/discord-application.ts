import type { KeyObject } from "node:crypto";
import type { PlatformCall, PlatformReply } from "../platform-server.ts";
import { pingInteraction } from "./discord-interactions.ts";
import { signDiscord } from "./discord-signature.ts";

/** The application and its bot (reference: https://docs.discord.com/developers/resources/application). */
export interface DiscordApplication {
  botToken: string;
  applicationId: string;
  publicKey: string;
  privateKey: KeyObject;
  /** The URL for interactions. */
  endpoint: string | null;
  commands: unknown[];
}

/** Answers calls about the application; undefined for every other call. */
export async function answerApplication(
  call: PlatformCall,
  application: DiscordApplication,
): Promise<PlatformReply | undefined> {
  const { botToken, applicationId } = application;
  const route = `${call.method} ${call.path.replace(/^\/api\/v10/, "")}`;
  const routes: Record<string, () => PlatformReply | Promise<PlatformReply>> = {
    "GET /users/@me": () => ({ status: 200, body: { id: applicationId, username: "gsv", bot: true } }),
    "GET /applications/@me": () => ({ status: 200, body: describe(application) }),
    "PATCH /applications/@me": () => setEndpoint(call, application),
    [`PUT /applications/${applicationId}/commands`]: () => setCommands(call, application),
  };
  const answer = Object.hasOwn(routes, route) ? routes[route] : undefined;
  if (!answer) return undefined;
  if (call.headers.authorization !== `Bot ${botToken}`) return fault(401, 0, "401: Unauthorized");
  return answer();
}

function describe({ applicationId, publicKey, endpoint }: DiscordApplication): object {
  return { id: applicationId, name: "gsv", verify_key: publicKey, interactions_endpoint_url: endpoint };
}

/** Discord calls the endpoint with a valid and an invalid signature before accepting it. */
async function setEndpoint({ body }: PlatformCall, application: DiscordApplication): Promise<PlatformReply> {
  const url = body?.interactions_endpoint_url;
  if (typeof url !== "string" || !URL.canParse(url)) return fault(400, 50035, "Invalid Form Body");
  const text = JSON.stringify(pingInteraction());
  const signed = signDiscord(application.privateKey, text, String(Math.floor(Date.now() / 1000)));
  const post = async (headers: Record<string, string>) => fetch(url, { method: "POST", headers, body: text });
  const right = await post(signed.headers);
  const wrong = await post({ ...signed.headers, "x-signature-ed25519": "0".repeat(128) });
  const pong = right.ok && ((await right.json()) as { type?: number }).type === 1;
  if (!pong || wrong.status !== 401)
    return fault(
      400,
      50035,
      "interactions_endpoint_url: The specified interactions endpoint url could not be verified.",
    );
  application.endpoint = url;
  return { status: 200, body: describe(application) };
}

function setCommands({ body }: PlatformCall, application: DiscordApplication): PlatformReply {
  if (!Array.isArray(body) || !body.every(isCommand)) return fault(400, 50035, "Invalid Form Body");
  application.commands = body;
  return { status: 200, body: body.map((command, index) => ({ ...command, id: String(index + 1) })) };
}

function isCommand(command: Record<string, unknown>): boolean {
  const { type = 1, name, description = "", contexts = [] } = command;
  if (typeof name !== "string" || typeof description !== "string" || !Array.isArray(contexts)) return false;
  if (!contexts.every((context) => [0, 1, 2].includes(context))) return false;
  if (type === 1)
    return /^[-_'\p{Ll}\p{N}]{1,32}$/u.test(name) && description !== "" && description.length <= 100;
  return (type === 2 || type === 3) && /^.{1,32}$/.test(name) && description === "";
}

function fault(status: number, code: number, message: string): PlatformReply {
  return { status, body: { message, code } };
}
