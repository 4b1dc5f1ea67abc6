/** The first line of the first answer in a conversation: nobody shall take the rules for a language model. */
export const label =
  "(built-in offline model: rules, not a language model; set a provider key for a real one)";
