/**
 * Work that has to be done before the first model call of a run.
 */
import type { ContextSource } from "../../index.js";

/** A source of no texts: the sources of a run are loaded before its first model call. If `prepare` rejects, the run fails. */
export function createPreparation(prepare: () => Promise<void>): ContextSource {
  return {
    name: "preparation",
    async load() {
      await prepare();
      return [];
    },
  };
}
