/**
 * Settings of a model call, as the log keeps them.
 */
import type { Json } from "./message.js";

/** Settings of a model call. All are optional. A model that cannot honour a setting reports a warning. */
export type ModelSettings = {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly maxOutputTokens?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly reasoning?: Json;
};
