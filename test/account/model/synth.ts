/** What `cdk --app` runs for the scripted model's stack. */
import { createModelApp } from "./app.ts";

(await createModelApp()).app.synth();
