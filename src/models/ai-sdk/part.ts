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
 * A key in a part's metadata. It marks kinds of parts that a provider has and messages do not, so that they are sent back
 * unchanged. No provider reads this key.
 */
export const pawlMetadataKey = "pawl";
