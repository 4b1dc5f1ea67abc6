import { openAws } from "../../shared/aws/open-aws.ts";
import { createAgentHandler } from "./agent-handler.ts";

export const handler = createAgentHandler(openAws());
