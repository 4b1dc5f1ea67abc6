import { addressCases } from "./addresses.ts";
import { answerCases } from "./answers.ts";
import type { HostileCase } from "./hostile-case.ts";
import { pageCases } from "./pages.ts";
import { pdfCases } from "./pdf-files.ts";

export const hostileCases: readonly HostileCase[] = [
  ...addressCases,
  ...answerCases,
  ...pageCases,
  ...pdfCases,
];
