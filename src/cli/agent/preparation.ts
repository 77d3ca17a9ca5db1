/**
 * Work that has to be done before the first model call of a run.
 */
import type { ContextSource } from "../../index.js";

/** A source without text. Sources are loaded before the first model call of a run. If `prepare` rejects, the run fails. */
export function createPreparation(prepare: () => Promise<void>): ContextSource {
  return {
    name: "preparation",
    async load() {
      await prepare();
      return [];
    },
  };
}
