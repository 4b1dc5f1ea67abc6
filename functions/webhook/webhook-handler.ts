import type { LambdaFunctionURLEvent } from "aws-lambda";
import { answerPress } from "../../shared/approvals/press.ts";
import { type AccountLookup, ownValue } from "../../shared/channels/account.ts";
import { type Activity, createActivity, recordFailures } from "../../shared/channels/activity.ts";
import type {
  ChannelAddress,
  Channels,
  InboundMessage,
  Received,
  ShownAnswer,
} from "../../shared/channels/channel.ts";
import { channels } from "../../shared/channels/channels.ts";
import { handleInbound, type Inbound, type InboundOutcome } from "../../shared/channels/inbound/inbound.ts";
import { handleReaction } from "../../shared/channels/inbound/reaction.ts";
import { createChannelSender } from "../../shared/channels/outbound/sender.ts";
import { cacheSecrets } from "../../shared/configuration/secret-cache.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { acceptReturn, callbackPath, clientMetadata, documentPath } from "../../shared/mcp/login-return.ts";
import { watchInvocations } from "../../shared/runtime/faults.ts";
import { wrapHandler } from "../../shared/runtime/handler.ts";
import { log } from "../../shared/runtime/log.ts";
import type { World } from "../../shared/world/world.ts";
import { type AccountFinder, createAccountFinder } from "./account-finder.ts";
import { readAddress, readBody } from "./request.ts";

/** The parts of the environment that the webhook function uses. */
type WebhookWorld = Pick<World, "table" | "secrets" | "wake" | "now" | "defaultModel">;

/** The webhook function's handler for its function URL. */
export function createWebhookHandler(world: WebhookWorld) {
  const webhook = createWebhook(world);
  return wrapHandler<LambdaFunctionURLEvent, WebhookAnswer>(
    "webhook",
    (event) => answerWebhook(webhook, event),
    {
      fields: (event) => ({ ...readAddress(event) }),
      onError: failure,
      watch: watchInvocations(world.table, "webhook", world.now),
    },
  );
}

function createWebhook({ table, wake, now, ...world }: WebhookWorld): Webhook {
  const configuration = openConfiguration(table, world.secrets, { now, model: world.defaultModel });
  const secrets = cacheSecrets(world.secrets, configuration, now);
  const finder = createAccountFinder({ configuration, secrets, now });
  const activity = createActivity(table, now);
  const sender = recordFailures(createChannelSender({ table, secrets, configuration, now }), activity);
  return { table, finder, configuration, channels, activity, sender, wake, now };
}

/** The dependencies of the webhook function, built once at cold start. */
export interface Webhook extends Inbound {
  finder: AccountFinder;
  channels: Channels;
  activity: Activity;
}

/** The answer to a platform (Lambda function URL, payload format 2.0). */
export interface WebhookAnswer {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
}

/**
 * Answers one request of a platform. A request that is too large, or for an unknown or unconfigured account, is refused before
 * the channel parses it; an unverified request is refused before anything is stored. The response is sent after all
 * messages were handled in order, so that the platform retries after a failure.
 * @throws any error; the handler answers it with 500, and the platform retries
 */
export async function answerWebhook(webhook: Webhook, event: LambdaFunctionURLEvent): Promise<WebhookAnswer> {
  if (isHealthCheck(event)) return answer(200, JSON.stringify({ status: "ok" }));
  const login = await answerLogin(webhook, event);
  if (login) return login;
  const body = readBody(event);
  if (!body) return refuse(413, "the body is too large");
  const address = readAddress(event);
  const channel = address && ownValue(webhook.channels, address.channel);
  if (!address || !channel) return refuse(404, "there is no such channel");
  const request = {
    method: event.requestContext.http.method,
    headers: event.headers,
    query: event.queryStringParameters ?? {},
    body,
  };
  let found = await webhook.finder.find(channel, address.accountId);
  if (!found.ok) return refuse(503, "not configured", address, found.reason);
  let received = await channel.receive(request, found.account);
  if (isUnverified(received)) {
    found = (await webhook.finder.findAgain(channel, address.accountId)) ?? found;
    if (!found.ok) return refuse(503, "not configured", address, found.reason);
    received = await channel.receive(request, found.account);
  }
  if (received.status === "refused") return refuse(received.httpStatus, received.reason, address);
  if (received.status === "answered") return answer(received.httpStatus, received.body, received.contentType);
  const { messages, presses = [], reactions = [], shown, pressed, failures = [] } = received;
  for (const failure of failures) await webhook.activity.failure(address, failure);
  if (isStopped(found)) found = await webhook.finder.findNewest(channel, address.accountId);
  if (!found.ok || isStopped(found)) return dropMessages(address, messages, shown);
  let text = "{}";
  for (const message of messages) {
    const outcome = await acceptMessage(webhook, address, message, shown !== undefined);
    if (shown) text = bodyFor(outcome, shown);
  }
  for (const reaction of reactions) {
    const outcome = await handleReaction(webhook, address, reaction);
    log("webhook.reaction", { ...address, senderId: reaction.sender.id, outcome });
  }
  for (const press of presses) {
    const outcome = await answerPress(webhook, channel, found.account, press);
    if (pressed) text = pressed(outcome);
  }
  return answer(200, text);
}

/** `GET /health` is public. Its answer only shows that this function works. */
function isHealthCheck({ rawPath, requestContext }: LambdaFunctionURLEvent): boolean {
  return rawPath === "/health" && requestContext.http.method === "GET";
}

/** Whether an account is stopped, or was removed. */
function isStopped(found: AccountLookup): boolean {
  return !found.ok || found.account.settings.enabled === false;
}

/**
 * Discards the messages of a stopped account with a 200 response. After an error response a platform would
 * retry for hours, or disable the webhook.
 */
function dropMessages(
  address: ChannelAddress,
  messages: readonly InboundMessage[],
  shown: ShownAnswer | undefined,
): WebhookAnswer {
  log("webhook.stopped", { ...address, messages: messages.length });
  return answer(200, shown ? shown.refused : "{}");
}

async function acceptMessage(
  webhook: Webhook,
  address: ChannelAddress,
  message: InboundMessage,
  isShown: boolean,
): Promise<InboundOutcome> {
  const outcome = await handleInbound(webhook, address, message, isShown);
  log("webhook.message", {
    ...address,
    eventId: message.eventId,
    // An operator copies this id into `allowFrom`.
    senderId: message.sender.id,
    ...outcome,
    // Message content is not logged.
    answer: undefined,
  });
  return outcome;
}

function bodyFor(outcome: InboundOutcome, shown: ShownAnswer): string {
  if ("answer" in outcome && outcome.answer !== undefined) return shown.text(outcome.answer);
  const isRefused = outcome.status === "blocked" || outcome.status === "pending_pairing";
  return isRefused ? shown.refused : shown.pending;
}

/** The response to an internal error; the platform delivers the event again. */
export function failure(): WebhookAnswer {
  return answer(500, JSON.stringify({ error: "internal error" }));
}

/** Logs `reason` and sends only `error`, because the caller is not authenticated. */
function refuse(
  statusCode: number,
  error: string,
  address: Partial<ChannelAddress> = {},
  reason = error,
): WebhookAnswer {
  log("webhook.refused", { ...address, statusCode, reason });
  return answer(statusCode, JSON.stringify({ error }));
}

function answer(statusCode: number, body: string, contentType = "application/json"): WebhookAnswer {
  return { statusCode, headers: { "content-type": contentType }, body };
}

/**
 * Answers the browser that returns from a login at an MCP server, and an authorization server that reads who logs in. Undefined for
 * any other request. What the browser brings is only recorded: this function knows no token and no verifier.
 */
async function answerLogin(
  { table, now }: Pick<Webhook, "table" | "now">,
  event: LambdaFunctionURLEvent,
): Promise<WebhookAnswer | undefined> {
  const { method } = event.requestContext.http;
  if (method !== "GET") return undefined;
  const base = `https://${event.requestContext.domainName}/`;
  if (event.rawPath === `/${documentPath}`) {
    const document = { client_id: `${base}${documentPath}`, ...clientMetadata(`${base}${callbackPath}`) };
    return answer(200, JSON.stringify(document));
  }
  if (event.rawPath !== `/${callbackPath}`) return undefined;
  const { state = "", code, iss: issuer, error } = event.queryStringParameters ?? {};
  const isAccepted = await acceptReturn(
    { table, now },
    {
      state,
      ...(code === undefined ? {} : { code }),
      ...(issuer === undefined ? {} : { issuer }),
      ...(error === undefined ? {} : { error }),
    },
  );
  log("mcp.returned", { isAccepted });
  if (isAccepted) return answer(200, "You may close this page. gsv goes on in the terminal.", plain);
  return answer(400, "No login waits for this page: run gsv mcp login again.", plain);
}

const plain = "text/plain; charset=utf-8";

/** Whether a channel refused a request because of its signature or secret. */
function isUnverified(received: Received): boolean {
  return received.status === "refused" && (received.httpStatus === 401 || received.httpStatus === 403);
}
