import { describe } from "vitest";
import { checksCases } from "./cases/checks.ts";
import { existingTableCases } from "./cases/existing-table.ts";
import { functionsCases } from "./cases/functions.ts";
import { iamCases } from "./cases/iam.ts";
import { idleCostCases } from "./cases/idle-cost.ts";
import { operationsCases } from "./cases/operations.ts";
import { rolesCases } from "./cases/roles.ts";
import { settingsCases } from "./cases/settings.ts";
import { stableIdsCases } from "./cases/stable-ids.ts";
import { stackCases } from "./cases/stack.ts";
import { strangersCases } from "./cases/strangers.ts";
import { templateLintCases } from "./cases/template-lint.ts";

// One file tests everything that is synthesized. Several files could run in several processes, which would each load CDK:
// that takes longer than most of the cases.
describe("checks", checksCases);
describe("existing table", existingTableCases);
describe("functions", functionsCases);
describe("authorizer", iamCases);
describe("idle cost", idleCostCases);
describe("operator's page", operationsCases);
describe("roles", rolesCases);
describe("settings", settingsCases);
describe("stack", stackCases);
describe("stable ids", stableIdsCases);
describe("strangers", strangersCases);
describe("cfn-lint", templateLintCases);
