/**
 * Helpers for reading AI SDK stream parts, which are untrusted data.
 */
import type { ModelFailure } from "../../core/data/message.js";

export class MalformedPartError extends Error {
  constructor(type: string, field: string) {
    super(`The provider sent a malformed stream part: "${type.slice(0, 40)}" has no usable "${field}".`);
  }
}

export const cutShortFailure: ModelFailure = {
  kind: "network",
  message: "The provider's answer was cut short: it ended without a finish.",
};

/**
 * The key in a part's metadata that marks kinds of parts that providers have and messages lack, so that they are sent back
 * unchanged. No provider reads this key.
 */
export const pawlMetadataKey = "pawl";
