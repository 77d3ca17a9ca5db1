/**
 * Reads the tools that a session's model was last offered, from the session's log alone.
 */
import type { State } from "../../core/machine/state.js";
import type { ToolSpecification } from "../../ports/model.js";
import type { Store } from "../../ports/store.js";
import { readTranscript } from "../log/read-log.js";
import { parseSpecifications, readPromptBlob } from "../work/prompt-blobs.js";

/** Empty if the log refers to no tools, or if the store has lost them. @throws PawlError `store_failed` */
export async function loadSessionTools(
  store: Pick<Store, "read" | "load" | "getBlob">,
  sessionId: string,
  state: State,
): Promise<readonly ToolSpecification[]> {
  const { toolsHash } = await readTranscript(store, sessionId, state);
  const text = toolsHash == null ? null : await readPromptBlob(sessionId, toolsHash, store);
  return text === null ? [] : parseSpecifications(text);
}
