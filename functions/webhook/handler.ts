import { openAws } from "../../shared/aws/open-aws.ts";
import { inTurn } from "../../shared/session/agent-slots.ts";
import { createWebhookHandler } from "./webhook-handler.ts";

export const handler = createWebhookHandler(inTurn(openAws()));
