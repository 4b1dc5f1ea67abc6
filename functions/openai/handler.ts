import { openAws } from "../../shared/aws/open-aws.ts";
import { streamed } from "../../shared/aws/response-stream.ts";
import { createOpenaiHandler } from "./openai-handler.ts";

export const handler = streamed(createOpenaiHandler(openAws()));
