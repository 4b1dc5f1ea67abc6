import type { LambdaFunctionURLEvent } from "aws-lambda";
import { createActivity, recordFailures } from "../../shared/channels/activity.ts";
import { channels } from "../../shared/channels/channels.ts";
import { createChannelSender } from "../../shared/channels/outbound/sender.ts";
import { cacheSecrets } from "../../shared/configuration/secret-cache.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { watchInvocations } from "../../shared/runtime/faults.ts";
import { wrapHandler } from "../../shared/runtime/handler.ts";
import type { World } from "../../shared/world/world.ts";
import { createAccountFinder } from "./account-finder.ts";
import { readAddress } from "./request.ts";
import { answerWebhook, failure, type Webhook, type WebhookAnswer } from "./webhook.ts";

/** The parts of the environment that the webhook function uses. */
type WebhookWorld = Pick<World, "table" | "secrets" | "wake" | "now">;

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
  const configuration = openConfiguration(table, world.secrets, { now });
  const secrets = cacheSecrets(world.secrets, configuration, now);
  const finder = createAccountFinder({ configuration, secrets, now });
  const activity = createActivity(table, now);
  const sender = recordFailures(createChannelSender({ table, secrets, configuration, now }), activity);
  return { table, finder, configuration, channels, activity, sender, wake, now };
}
