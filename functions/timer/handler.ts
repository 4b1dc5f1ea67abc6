import { openAws } from "../../shared/aws/open-aws.ts";
import { createTimerHandler } from "./timer-handler.ts";

export const handler = createTimerHandler(openAws());
