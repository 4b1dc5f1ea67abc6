import { readStage } from "../../shared/aws/deployed-stage.ts";
import { openDynamoDBTable } from "../../shared/aws/dynamodb-table.ts";
import { createAdminToken } from "../../shared/peers/tokens.ts";
import { Failure, failureOf } from "../app/failure.ts";

/**
 * Sets the AWS environment variables that both the CDK and the SDK read. Only the CDK reads
 * AWS_DEFAULT_REGION.
 */
export function chooseAccount(profile: string | undefined, region: string | undefined): void {
  // This program checks the Node version itself.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= "true";
  if (profile !== undefined) process.env.AWS_PROFILE = profile;
  const chosen = region ?? (process.env.AWS_REGION || process.env.AWS_DEFAULT_REGION);
  if (chosen) {
    process.env.AWS_REGION = chosen;
    process.env.AWS_DEFAULT_REGION = chosen;
  }
}

/** Checks credentials, region and network with one read. The table may not exist. */
export async function checkCredentials(stage: string): Promise<void> {
  try {
    await openDynamoDBTable(`gsv-${stage}`).get({ pk: "-", sk: "-" });
  } catch (error) {
    const { name, message } = error as Error;
    // These errors mean that the credentials are valid. The deployment checks the permissions.
    if (
      name === "ResourceNotFoundException" ||
      name === "AccessDeniedException" ||
      name === "ValidationException"
    )
      return;
    if (/region is missing/i.test(message))
      throw new Failure("aws-region", "no AWS region is set; pass --region, or set AWS_REGION");
    if (name === "CredentialsProviderError" || /credential/i.test(message))
      throw new Failure(
        "aws-credentials",
        "no AWS credentials were found; pass --profile, set AWS_PROFILE or AWS_ACCESS_KEY_ID, or sign in with `aws sso login`",
      );
    if (/UnrecognizedClient|InvalidSignature|ExpiredToken|InvalidClientTokenId/.test(name))
      throw new Failure(
        "aws-credentials",
        `AWS refuses these credentials (${name}); renew them or choose another --profile`,
      );
    throw new Failure(
      "aws",
      `AWS cannot be reached: ${failureOf(error).message}; check the network and --region`,
    );
  }
}

/**
 * Creates a token with the scope admin in a deployed stage's table, by requests that the AWS credentials sign.
 * @param url the gateway that the token is for
 */
export async function createStageAdmin(stage: string, url: string): ReturnType<typeof createAdminToken> {
  await checkCredentials(stage);
  try {
    const outputs = await readStage(stage);
    if (outputs === undefined)
      throw new Failure(
        "aws-stage",
        `gsv-${stage} is not deployed in this account and region; choose them with --profile and --region`,
      );
    if (outputs.WebSocketUrl !== url)
      throw new Failure(
        "aws-stage",
        `gsv-${stage} is the gateway ${outputs.WebSocketUrl}, not ${url}; pass its --stage, or its --config`,
      );
    return await createAdminToken(openDynamoDBTable(outputs.TableName), Date.now());
  } catch (error) {
    if ((error as Error).name !== "AccessDeniedException") throw error;
    throw new Failure(
      "aws-table",
      `these AWS credentials may not administer gsv-${stage}; allow them ssm:GetParametersByPath on /gsv/${stage}, and dynamodb:Query and dynamodb:PutItem on its table`,
    );
  }
}
