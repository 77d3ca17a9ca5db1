/**
 * Reads and changes the data of a session from outside its runs.
 */
import { anObject, anyValue, checkOptions, type OptionTable } from "../../check-options.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { DataPatch, SessionData } from "../../core/data/session-data.js";
import type { InboxBody } from "../../core/machine/inbox.js";
import type { State } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { MakeId } from "../../ports/clock.js";
import type { Store } from "../../ports/store.js";
import { loadTranscript } from "../log/read-log.js";
import { checkDataKey, dataTooLargeError, fitsDataLimit, toDataValue } from "../work/data-changes.js";
import { checkNoteAndBy } from "./check-answer.js";

/** The data of a session, for code outside its runs. */
export type DataAccess = {
  /** The session's committed data, frozen. @throws PawlError `no_session` */
  readonly data: () => Promise<SessionData>;
  /**
   * Changes the session's data: `set` sets the values of keys, `unset` deletes keys. Tools see the change from then on. Resolves when the
   * change is durable: in the log if the session is driven here, and otherwise in the session's inbox. A change that no longer fits the
   * limit when it is consumed from the inbox is dropped.
   * @throws PawlError `no_session`; `bad_input` if the data would take more than 64 KiB as JSON, or if a key is not allowed; `not_storable`
   */
  readonly setData: (
    patch: {
      /** The keys to set, with their values. */
      readonly set?: { readonly [key: string]: unknown };
      /** The keys to delete. */
      readonly unset?: readonly string[];
    },
    options?: { readonly by?: string },
  ) => Promise<void>;
};

type Patch = Parameters<DataAccess["setData"]>[0];
type SetOptions = NonNullable<Parameters<DataAccess["setData"]>[1]>;

const patchRules: OptionTable<Patch> = {
  set: anObject,
  unset: { accepts: (value) => Array.isArray(value), expected: "a list of keys" },
};
const optionRules: OptionTable<SetOptions> = { by: anyValue };

/** @param load returns the state of the session; throws `no_session` if the session does not exist */
export function createDataAccess(
  id: string,
  { store, makeId }: { readonly store: Store; readonly makeId: MakeId },
  load: () => Promise<State>,
  post: (messageId: string, body: InboxBody, known: State) => Promise<unknown>,
): DataAccess {
  const readData = async (state: State) => (await loadTranscript(store, id, state)).data;
  return {
    data: async () => deepFreeze(await readData(await load())),
    async setData(given, options = {}) {
      checkOptions("setData()", patchRules, given, { code: "bad_input" });
      checkOptions("setData()", optionRules, options, { code: "bad_input", otherNames: { user: "by" } });
      const { by } = options;
      checkNoteAndBy({ by });
      const patch = toPatch(given);
      const state = await load();
      if (!fitsDataLimit(await readData(state), patch)) throw dataTooLargeError();
      await post(`data/${makeId()}`, { type: "data", patch, ...(by === undefined ? {} : { by }) }, state);
    },
  };
}

function toPatch({ set = {}, unset = [] }: Patch): DataPatch {
  const values: [string, SessionData[string]][] = [];
  const unsetKeys = new Set<string>();
  for (const key of unset) {
    checkDataKey(key);
    unsetKeys.add(key);
  }
  for (const [key, given] of Object.entries(set)) {
    checkDataKey(key);
    const value = toDataValue(given);
    if (value === undefined) unsetKeys.add(key);
    else values.push([key, value]);
  }
  const conflict = values.find(([key]) => unsetKeys.has(key));
  if (conflict !== undefined)
    throw new PawlError(
      "bad_input",
      `setData() both sets and unsets ${JSON.stringify(conflict[0])}. Do only one of them.`,
    );
  if (values.length === 0 && unsetKeys.size === 0)
    throw new PawlError("bad_input", "setData() has nothing to change. Give set, unset, or both.");
  return {
    ...(values.length === 0 ? {} : { set: Object.fromEntries(values) }),
    ...(unsetKeys.size === 0 ? {} : { unset: [...unsetKeys] }),
  };
}
