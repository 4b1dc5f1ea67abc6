import type { Secrets } from "../../shared/world/world.ts";
import { ssmPrefix } from "../cloud-names.ts";
import { AwsError } from "../http/aws-error.ts";
import { isRecord } from "../http/json.ts";
import type { Parameters } from "../ssm/parameter-store.ts";

/** Secrets in the parameters that the local Systems Manager serves. */
export function openLocalSecrets({ operations }: Parameters, prefix = ssmPrefix): Secrets {
  const nameOf = (path: string) => `${prefix}/secrets/${path.replaceAll(".", "/")}`;
  return {
    async get(path) {
      const request = { Name: nameOf(path), WithDecryption: true };
      const answer = await unlessAbsent(async () => operations.GetParameter(request));
      const value = isRecord(answer?.Parameter) ? answer.Parameter.Value : undefined;
      return typeof value === "string" ? value : undefined;
    },
    async put(path, value) {
      await operations.PutParameter({
        Name: nameOf(path),
        Value: value,
        Type: "SecureString",
        Overwrite: true,
      });
    },
    async delete(path) {
      await unlessAbsent(async () => operations.DeleteParameter({ Name: nameOf(path) }));
    },
  };
}

async function unlessAbsent<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof AwsError && error.code === "ParameterNotFound") return undefined;
    throw error;
  }
}
