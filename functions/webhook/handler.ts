import type { LambdaFunctionURLEvent } from "aws-lambda";
import { openAgent } from "../../shared/aws/invoke.ts";
import { openSecrets } from "../../shared/aws/secrets.ts";
import { openTable } from "../../shared/aws/table.ts";
import { createActivity, noteFailures } from "../../shared/channels/activity.ts";
import { channels } from "../../shared/channels/channels.ts";
import { createChannelSender } from "../../shared/channels/sender.ts";
import { readEnvironment } from "../../shared/config.ts";
import { openConfiguration } from "../../shared/configuration/store.ts";
import { once, wrapHandler } from "../../shared/handler.ts";
import { readAddress } from "./request.ts";
import { answerWebhook, failure, type Webhook, type WebhookAnswer } from "./webhook.ts";

const webhook = once((): Webhook => {
  const environment = readEnvironment();
  const now = Date.now;
  const table = openTable(environment.tableName);
  const secrets = openSecrets(environment.ssmPrefix);
  const configuration = openConfiguration(table, secrets);
  const activity = createActivity(table, now);
  return {
    table,
    secrets,
    configuration,
    channels,
    activity,
    sender: noteFailures(createChannelSender({ table, secrets, configuration, now }), activity),
    wake: openAgent(environment.agentFunction),
    now,
  };
});

export const handler = wrapHandler<LambdaFunctionURLEvent, WebhookAnswer>(
  "webhook",
  (event) => answerWebhook(webhook(), event),
  { fields: (event) => ({ ...readAddress(event) }), onError: failure },
);
