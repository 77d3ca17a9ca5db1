/**
 * Models by name for runtimes without installed packages: every name is refused.
 */
import { PawlError } from "../../../errors.js";
import type * as node from "../registry.js";

export const resolveModel: typeof node.resolveModel = async (name) => {
  throw new PawlError(
    "needs_node",
    `The model ${name} was given by name. Resolving a name imports the provider's package, which needs Node, Bun or Deno. Pass the model itself instead, for example createOpenAI({ apiKey })("gpt-5") of @ai-sdk/openai.`,
  );
};
