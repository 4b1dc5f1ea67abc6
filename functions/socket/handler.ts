import { openAws } from "../../shared/aws/open-aws.ts";
import { inTurn } from "../../shared/session/agent-slots.ts";
import { createSocketHandler } from "./socket-handler.ts";

export const handler = createSocketHandler(inTurn(openAws()));
