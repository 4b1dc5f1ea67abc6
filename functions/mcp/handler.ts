import { openAws } from "../../shared/aws/open-aws.ts";
import { createMcpHandler } from "./mcp-handler.ts";

export const handler = createMcpHandler(openAws());
