import { randomUUID } from "node:crypto";
import { openSsmSecrets } from "../../../shared/aws/ssm-secrets.ts";
import { describeSecrets } from "../secrets-contract.ts";

describeSecrets("the secrets", async () => {
  const secrets = openSsmSecrets(`/gsv-contracts-${randomUUID()}`);
  const put = new Set<string>();
  const close = async () => {
    for (const path of put) await secrets.delete(path);
  };
  const watched = {
    ...secrets,
    async put(path: string, value: string) {
      put.add(path);
      await secrets.put(path, value);
    },
  };
  return { secrets: watched, close };
});
