import { openAws } from "../../shared/aws/open-aws.ts";
import { inTurn } from "../../shared/session/agent-slots.ts";
import { createAgentHandler } from "./agent-handler.ts";

export const handler = createAgentHandler(inTurn(openAws()));
