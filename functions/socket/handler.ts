import { openAws } from "../../shared/aws/open-aws.ts";
import { createSocketHandler } from "./socket-handler.ts";

export const handler = createSocketHandler(openAws());
