import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { clientSettings, stageLimits } from "./call-limits.ts";

/** The number of the account that the credentials belong to. Every credential may read it. */
export async function readAccount(): Promise<string> {
  const client = new STSClient(clientSettings(stageLimits));
  const { Account = "" } = await client.send(new GetCallerIdentityCommand({}));
  return Account;
}
