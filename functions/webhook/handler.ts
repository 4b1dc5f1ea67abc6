import { openAws } from "../../shared/aws/open-aws.ts";
import { createWebhookHandler } from "./webhook-handler.ts";

export const handler = createWebhookHandler(openAws());
