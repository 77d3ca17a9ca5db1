/**
 * A tool's access to the session's data: `ctx.data`.
 */
import type { SessionData } from "../../core/data/session-data.js";
import { PawlError } from "../../errors.js";
import type { ToolData } from "../../ports/session-data.js";
import {
  addChange,
  applyChanges,
  checkDataKey,
  type DataChange,
  getValue,
  startChanges,
  toDataValue,
} from "../work/data-changes.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";

export function createToolData(
  { callKey, attempt }: EffectOf<"run_tool">,
  { memory, transcript }: Pick<EffectContext, "memory" | "transcript">,
): ToolData {
  const callChanges = startChanges(memory, callKey, attempt);
  let cached: { readonly data: SessionData; readonly changes: number; readonly with: SessionData } | null = null;

  /** The committed data with the tool's own changes. */
  function currentData(): SessionData {
    const { data } = transcript;
    const list = isOver() ? [] : callChanges.list;
    if (cached?.data !== data || cached.changes !== list.length)
      cached = { data, changes: list.length, with: list.length === 0 ? data : applyChanges(data, list).data };
    return cached.with;
  }

  function isOver(): boolean {
    return memory.changes?.get(callKey) !== callChanges;
  }

  function applyChange(one: DataChange): void {
    if (isOver())
      throw new PawlError("run_finished", "The call has ended, so it can no longer change the session's data.");
    const before = [...callChanges.list];
    try {
      addChange(callChanges, one);
      cached = null;
      currentData();
    } catch (error) {
      cached = null;
      callChanges.list.splice(0, callChanges.list.length, ...before);
      throw error;
    }
  }

  return {
    get: (key) => getValue(currentData(), key),
    all: currentData,
    set(key, given) {
      checkDataKey(key);
      const value = toDataValue(given);
      applyChange(value === undefined ? { type: "unset", key } : { type: "set", key, value });
    },
    delete(key) {
      checkDataKey(key);
      applyChange({ type: "unset", key });
    },
    update(key, make) {
      checkDataKey(key);
      if (typeof make !== "function")
        throw new PawlError("bad_input", `The update of "${key}" needs a function that returns the new value.`);
      applyChange({ type: "update", key, make });
    },
  };
}
