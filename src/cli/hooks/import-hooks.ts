/**
 * Reads the hooks of Claude Code's settings, and plans which of them can be copied into a `hooks.json` of Pawl.
 *
 * A hook is copied as it is, or not at all: a hook that runs differently might no longer guard what it guarded.
 */

import { isJsonObject } from "../../core/data/is-object.js";
import { type Json, parseJson } from "../../core/index.js";
import { stripComments } from "../configuration/strip-comments.js";
import { type ConfiguredHook, type HooksFile, isSameHook, readForeignHook } from "./hooks-file.js";

/** A hook of the settings. */
export type ImportedHook = {
  readonly event: string;
  readonly matcher: string;
  /** The matcher as it is written: only a string is a matcher. */
  readonly writtenMatcher: Json;
  readonly command: string;
  /** The other members of the entry as JSON, such as its `if` and `env`; empty if there are none. */
  readonly otherMembers: string;
  /** The entry as it is written. */
  readonly entry: Json;
};

export type ImportPlan = {
  readonly copied: readonly ImportedHook[];
  /** The hooks that cannot be copied, and why. */
  readonly refused: readonly (ImportedHook & { readonly why: string })[];
  /** How many hooks the target has already. */
  readonly presentCount: number;
};

/** @throws Error that says why the settings cannot be read */
export function planImport(settings: string, present: readonly ConfiguredHook[]): ImportPlan {
  const copied: ImportedHook[] = [];
  const refused: (ImportedHook & { readonly why: string })[] = [];
  let presentCount = 0;
  for (const hook of readSettingsHooks(settings)) {
    const read = readForeignHook(hook.event, hook.writtenMatcher, hook.entry);
    if (typeof read === "string") refused.push({ ...hook, why: read });
    else if (present.some((one) => isSameHook(one, read))) presentCount += 1;
    else copied.push(hook);
  }
  return { copied, refused, presentCount };
}

function readSettingsHooks(settings: string): readonly ImportedHook[] {
  const parsed = parseJson(stripComments(settings));
  if (!parsed.ok) throw new Error(`it is not valid JSON (${parsed.error})`);
  const { hooks = {} } = isJsonObject(parsed.value) ? parsed.value : {};
  if (!isJsonObject(hooks)) throw new Error("its hooks are not an object");
  return Object.entries(hooks).flatMap(([event, groups]) =>
    toList(groups).flatMap((group) => {
      const { matcher = "", hooks: entries } = isJsonObject(group) ? group : {};
      return toList(entries).map((entry) => {
        const { command, type, ...others } = isJsonObject(entry) ? entry : {};
        const isCommand = type === "command" && typeof command === "string";
        return {
          event,
          entry,
          otherMembers: isCommand && Object.keys(others).length > 0 ? JSON.stringify(others) : "",
          matcher: typeof matcher === "string" ? matcher : JSON.stringify(matcher),
          writtenMatcher: matcher,
          command: isCommand ? command : JSON.stringify(entry),
        };
      });
    }),
  );
}

function toList(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** The text of the target with the hooks added. Everything else in it is preserved, except comments. */
export function addHooks(target: Pick<HooksFile, "text"> | null, copied: readonly ImportedHook[]): string {
  const parsed = parseJson(stripComments(target?.text ?? "{}"));
  const members = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
  const events: Record<string, Json> = { ...(isJsonObject(members.hooks) ? members.hooks : {}) };
  for (const { event, matcher, entry } of copied) {
    const group = { ...(matcher.trim() === "" ? {} : { matcher }), hooks: [entry] };
    events[event] = [...toList(events[event]), group];
  }
  return `${JSON.stringify({ ...members, hooks: events }, null, 2)}\n`;
}
