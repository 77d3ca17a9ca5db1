/**
 * The session's data as a tool reads and changes it: `ctx.data`.
 */
import type { SessionData } from "../../core/data/session-data.js";
import { PawlError } from "../../errors.js";
import type { ToolData } from "../../ports/session-data.js";
import {
  addChange,
  applyChanges,
  beginChanges,
  checkDataKey,
  type DataChange,
  dataValue,
  valueAt,
} from "../work/data-changes.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";

export function createToolData(
  { callKey, attempt }: EffectOf<"run_tool">,
  { memory, transcript }: Pick<EffectContext, "memory" | "transcript">,
): ToolData {
  const own = beginChanges(memory, callKey, attempt);
  let seen: { readonly data: SessionData; readonly changes: number; readonly with: SessionData } | null = null;

  /** What is committed, and the tool's own changes. */
  function present(): SessionData {
    const { data } = transcript;
    const list = isOver() ? [] : own.list;
    if (seen?.data !== data || seen.changes !== list.length)
      seen = { data, changes: list.length, with: list.length === 0 ? data : applyChanges(data, list).data };
    return seen.with;
  }

  function isOver(): boolean {
    return memory.changes?.get(callKey) !== own;
  }

  function change(one: DataChange): void {
    if (isOver())
      throw new PawlError("run_finished", "The call is over: it cannot change the session's data any more.");
    const before = [...own.list];
    try {
      addChange(own, one);
      seen = null;
      present();
    } catch (error) {
      seen = null;
      own.list.splice(0, own.list.length, ...before);
      throw error;
    }
  }

  return {
    get: (key) => valueAt(present(), key),
    all: present,
    set(key, given) {
      checkDataKey(key);
      const value = dataValue(given);
      change(value === undefined ? { type: "unset", key } : { type: "set", key, value });
    },
    delete(key) {
      checkDataKey(key);
      change({ type: "unset", key });
    },
    update(key, make) {
      checkDataKey(key);
      if (typeof make !== "function")
        throw new PawlError("bad_input", `The update of "${key}" needs a function that makes the new value.`);
      change({ type: "update", key, make });
    },
  };
}
