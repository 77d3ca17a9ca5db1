/**
 * The session's data inside a tool: how the tool reads and changes it.
 */
import type { Json } from "../core/data/message.js";
import type { SessionData } from "../core/data/session-data.js";

export type { SessionData } from "../core/data/session-data.js";

/**
 * A JSON object that belongs to the session: at most 64 KiB as JSON, with keys of 1 to 100 characters.
 *
 * The tool reads the committed data and its own changes. A change is committed with the result of the call; in a tool with `durable: true`,
 * with the next tool step or question if that comes first. If the call ends in an error, its changes are dropped, unless the tool has
 * `keepDataOnError`.
 *
 * Each change throws a PawlError: `bad_input` if the key is not allowed, or if the data would exceed 64 KiB; `not_storable` if the value
 * cannot be written as JSON; `run_finished` if the call is over.
 */
export type ToolData = {
  /** The value of a key, frozen; undefined if there is none. */
  get(key: string): Json | undefined;
  /** All keys and values, frozen. */
  all(): SessionData;
  /** Stores a copy, as plain JSON. `undefined` deletes the key. */
  set(key: string, value: unknown): void;
  /** Removes the key. */
  delete(key: string): void;
  /**
   * Computes the new value from the old one. `change` is called now, and again at the commit with the value that is committed at that
   * point, so concurrent calls do not overwrite each other. It must be synchronous and have no side effects. `undefined` deletes the key.
   */
  update(key: string, change: (old: Json | undefined) => unknown): void;
};
