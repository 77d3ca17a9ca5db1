/**
 * Models by name for runtimes without installed packages: every name is refused.
 */
import { PawlError } from "../../../errors.js";
import type * as node from "../registry.js";

export const resolveModel: typeof node.resolveModel = async (name) => {
  throw new PawlError(
    "needs_node",
    `The model ${name} is given by its name, which imports the package of its provider. That needs Node, Bun or Deno. Give the model itself instead, for example createOpenAI({ apiKey })("gpt-5") of @ai-sdk/openai.`,
  );
};
