import { describeSecrets } from "./secrets-contract.ts";
import { worlds } from "./worlds.ts";

for (const [name, open] of worlds) {
  describeSecrets(`the secrets of ${name}`, async () => {
    const { world, close } = await open();
    return { secrets: world.secrets, close };
  });
}
