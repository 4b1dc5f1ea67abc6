import { openAws } from "../../shared/aws/open-aws.ts";
import { inTurn } from "../../shared/session/agent-slots.ts";
import { createTimerHandler } from "./timer-handler.ts";

export const handler = createTimerHandler(inTurn(openAws()));
