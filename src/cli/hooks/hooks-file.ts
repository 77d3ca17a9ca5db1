/**
 * Reads hooks from a file: `hooks.json` next to the person's `pawl.config.json`, and `.pawl/hooks.json` in a folder. The format is that
 * of Claude Code, so that scripts for it run unchanged.
 *
 * 1. An unknown event or key is an error with its location. A hook that is silently dropped would guard nothing.
 * 2. A matcher is a list of names with wildcards, not a regular expression, so matching takes linear time.
 */

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { getErrorMessage } from "../../core/data/error-message.js";
import { isJsonObject } from "../../core/data/is-object.js";
import { nearestName, parseJson } from "../../core/index.js";
import { type Json, PawlError } from "../../index.js";
import { compileGlob } from "../../tools/files/glob.js";
import { stripComments } from "../configuration/strip-comments.js";
import { decodeText, readFolderFile } from "../files/folder-file.js";
import { readSmallText } from "../files/small-file.js";
import { parseRule, type Rule, toolsElsewhere } from "../permissions/rule.js";

export const userHooksName = "hooks.json";
export const folderHooksName = ".pawl/hooks.json";
/** The folder of scripts whose files are part of the trust in `folderHooksName`. */
export const folderScriptsName = ".pawl/hooks";

/** The events, and what a matcher selects by; null for events without a matcher. */
const hookEvents = {
  SessionStart: "start",
  UserPromptSubmit: null,
  PreToolUse: "tool",
  PermissionRequest: "tool",
  PostToolUse: "tool",
  PostToolUseFailure: "tool",
  Stop: null,
  SubagentStart: "agent",
  SubagentStop: "agent",
  PreCompact: "compaction",
  PostCompact: null,
  Notification: "notice",
  SessionEnd: "end",
} as const;

export type HookEvent = keyof typeof hookEvents;

export type ConfiguredHook = {
  readonly event: HookEvent;
  readonly matcher: string;
  /** Whether the matcher selects a subject with any of these names. */
  readonly matches: (names: readonly string[]) => boolean;
  /** The permission rule that a call must match; null for every call. */
  readonly condition: Rule | null;
  readonly command: string;
  readonly timeoutMs: number;
  readonly onFailure: "open" | "closed";
  /** The command runs in the background: nothing waits for it, and its answer has no effect. */
  readonly async: boolean;
  /** Variables that the command gets although their names look like those of secrets. */
  readonly env: readonly string[];
};

export type HooksFile = {
  readonly path: string;
  /** The real path. */
  readonly real: string;
  readonly text: string;
  readonly hooks: readonly ConfiguredHook[];
};

const maxBytes = 64 * 1024;
const maxHooks = 100;
const maxCommandCharacters = 10_000;
const maxMatcherCharacters = 500;
const defaultTimeoutSeconds = 60;
const maxTimeoutSeconds = 600;

/** The person's file in the folder of their configuration; null if there is none. @throws PawlError `bad_configuration` */
export function readUserHooks(configuration: string): HooksFile | null {
  const path = join(configuration, userHooksName);
  const text = readSmallText(path, maxBytes, (why) => createFileError(path, why));
  return text === null ? null : { path, real: path, text, hooks: parseHooks(path, text) };
}

/** The file of a folder, trusted or not; null if there is none. @throws PawlError `bad_configuration` */
export function readFolderHooks(root: string): HooksFile | null {
  const path = join(root, folderHooksName);
  const found = readFolderFile(root, folderHooksName, maxBytes);
  if (found.type === "missing") return null;
  if (found.type === "refused") throw createFileError(path, found.why);
  const text = decodeText(found.bytes);
  if (text === null) throw createFileError(path, "it is not UTF-8 text");
  return { path, real: resolve(root, found.path), text, hooks: parseHooks(path, text) };
}

type Members = { readonly [key: string]: Json };
/** Creates an error about the value at a place in the file, such as `hooks.Stop[0]`. */
type CreateError = (place: string, why: string) => PawlError;

/** @throws PawlError `bad_configuration` */
export function parseHooks(path: string, text: string): readonly ConfiguredHook[] {
  const parsed = parseJson(stripComments(text));
  if (!parsed.ok) throw createFileError(path, `it is not valid JSON (${parsed.error})`);
  const createError: CreateError = (place, why) => createFileError(path, `${place} ${why}`);
  const file = readMembers(parsed.value, "the file", createError);
  checkKeys(file, "", ["$schema", "description", "hooks"], createError);
  const events = readMembers(file.hooks, "hooks", createError);
  const names = Object.keys(hookEvents);
  const unknown = Object.keys(events).find((event) => !names.includes(event));
  if (unknown !== undefined)
    throw createError(`hooks.${unknown}`, `is not an event of Pawl. The events are ${names.join(", ")}`);
  const all = Object.entries(events).flatMap(([event, groups]) =>
    readList(groups, `hooks.${event}`, createError).flatMap((group, at) =>
      parseGroup(event as HookEvent, group, `hooks.${event}[${at}]`, createError),
    ),
  );
  if (all.length > maxHooks) throw createFileError(path, `it has ${all.length} hooks; the maximum is ${maxHooks}`);
  return all;
}

/** Reads a hook of another program; a string says why it cannot be a hook of Pawl. */
export function readForeignHook(event: string, matcher: Json, hook: Json): ConfiguredHook | string {
  if (!Object.hasOwn(hookEvents, event)) return `Pawl has no event ${event}`;
  try {
    const createError: CreateError = (place, why) => new PawlError("bad_configuration", `${place} ${why}`);
    const [read] = parseGroup(event as HookEvent, { matcher, hooks: [hook] }, event, createError);
    return read ?? "it is empty";
  } catch (error) {
    return getErrorMessage(error);
  }
}

/** Whether two hooks run the same command at the same events in the same way. */
export function isSameHook(one: ConfiguredHook, other: ConfiguredHook): boolean {
  return isDeepStrictEqual(toComparable(one), toComparable(other));
}

function toComparable({ matches: _, matcher, condition, ...hook }: ConfiguredHook) {
  return { ...hook, matcher: matcher === "*" ? "" : matcher, condition: condition?.rule };
}

function parseGroup(event: HookEvent, value: Json, place: string, createError: CreateError): readonly ConfiguredHook[] {
  const group = readMembers(value, place, createError);
  checkKeys(group, place, ["matcher", "hooks"], createError);
  const { matcher = "" } = group;
  if (typeof matcher !== "string") throw createError(`${place}.matcher`, "must be a string");
  const matches = compileMatcher(event, matcher.trim(), `${place}.matcher`, createError);
  return readList(group.hooks, `${place}.hooks`, createError).map((hook, at) => ({
    event,
    matcher: matcher.trim(),
    matches,
    ...parseHook(event, hook, `${place}.hooks[${at}]`, createError),
  }));
}

/** A name, with `*` or `.*` for any characters. */
const namePattern = /^(?:[\w-]|\.?\*)+$/;

function compileMatcher(
  event: HookEvent,
  matcher: string,
  place: string,
  createError: CreateError,
): ConfiguredHook["matches"] {
  if (matcher === "" || matcher === "*") return () => true;
  if (hookEvents[event] === null)
    throw createError(place, `has no effect: ${event} has nothing to match. Leave it out`);
  const names = matcher.split("|").map((name) => name.trim());
  if (matcher.length > maxMatcherCharacters || !names.every((name) => namePattern.test(name)))
    throw createError(place, "must be names with | between them, such as Edit|Write or mcp__github__*");
  const tests = names.map((name) => compileGlob(name.replaceAll(".*", "*")));
  return (subjects) => subjects.some((subject) => tests.some((test) => test(subject)));
}

function parseHook(
  event: HookEvent,
  value: Json,
  place: string,
  createError: CreateError,
): Pick<ConfiguredHook, "condition" | "command" | "timeoutMs" | "onFailure" | "async" | "env"> {
  const hook = readMembers(value, place, createError);
  const { type, command, timeout = defaultTimeoutSeconds, onFailure = "open", async = false, env = [] } = hook;
  if (type !== "command") throw createError(`${place}.type`, 'must be "command": other types of hooks do not run');
  checkKeys(hook, place, ["type", "command", "timeout", "if", "onFailure", "async", "env"], createError);
  if (typeof command !== "string" || command.trim() === "" || command.length > maxCommandCharacters)
    throw createError(`${place}.command`, `must be a command line of at most ${maxCommandCharacters} characters`);
  if (typeof timeout !== "number" || !(timeout > 0 && timeout <= maxTimeoutSeconds))
    throw createError(`${place}.timeout`, `must be seconds, more than 0 and at most ${maxTimeoutSeconds}`);
  if (onFailure !== "open" && onFailure !== "closed")
    throw createError(`${place}.onFailure`, 'must be "open" or "closed"');
  if (onFailure === "closed" && !closingEvents.has(event))
    throw createError(`${place}.onFailure`, `cannot be "closed": ${event} can block nothing`);
  if (typeof async !== "boolean") throw createError(`${place}.async`, "must be true or false");
  if (async && onFailure === "closed")
    throw createError(`${place}.onFailure`, 'cannot be "closed": a hook with async can block nothing');
  if (!Array.isArray(env) || !env.every((name) => typeof name === "string" && /^[A-Za-z_]\w*$/.test(name)))
    throw createError(`${place}.env`, "must be a list of names of variables");
  return {
    condition: hook.if === undefined ? null : parseCondition(event, hook.if, `${place}.if`, createError),
    command,
    timeoutMs: timeout * 1_000,
    onFailure,
    async,
    env: env as readonly string[],
  };
}

/** Events at which a hook can block what follows. */
const closingEvents: ReadonlySet<HookEvent> = new Set([
  "UserPromptSubmit",
  "PreToolUse",
  "PermissionRequest",
  "PostToolUse",
  "PostToolUseFailure",
  "Stop",
  "SubagentStop",
  "PreCompact",
]);

/** A permission rule such as `shell(git push *)`. Names and `:*` of Claude Code are accepted. */
function parseCondition(event: HookEvent, value: Json, place: string, createError: CreateError): Rule {
  if (hookEvents[event] !== "tool") throw createError(place, `has no effect: ${event} is not about a call`);
  if (typeof value !== "string") throw createError(place, "must be a permission rule, such as shell(git push *)");
  const [, name = "", rest = ""] = /^(\w+)(.*)$/s.exec(value.trim()) ?? [];
  const rule = `${toolsElsewhere.get(name) ?? name}${rest.replace(/:\*\)$/, " *)")}`;
  // A rule that denies also covers what it cannot read.
  return parseRule("deny", { rule }, "option", homedir(), (why) =>
    createError(place, `is not a permission rule: ${why}`),
  );
}

function readMembers(value: Json | undefined, place: string, createError: CreateError): Members {
  if (isJsonObject(value)) return value;
  throw createError(place, "must be an object");
}

function readList(value: Json | undefined, place: string, createError: CreateError): readonly Json[] {
  if (Array.isArray(value)) return value;
  throw createError(place, "must be a list");
}

function checkKeys(members: Members, place: string, known: readonly string[], createError: CreateError): void {
  const key = Object.keys(members).find((one) => !known.includes(one));
  if (key === undefined) return;
  const nearest = nearestName(key, known);
  const advice = nearest === undefined ? `known are ${known.join(", ")}` : `did you mean ${nearest}?`;
  throw createError(place === "" ? key : `${place}.${key}`, `is unknown (${advice})`);
}

function createFileError(path: string, why: string): PawlError {
  return new PawlError(
    "bad_configuration",
    `${path} cannot be used: ${why}${why.endsWith("?") ? "" : "."} Fix the file, or remove it.`,
  );
}

/** The folder's root in a command line. */
const rootVariables =
  /\$(?:(?:CLAUDE_PROJECT_DIR|PAWL_PROJECT_DIR|PWD)\b|\{(?:CLAUDE_PROJECT_DIR|PAWL_PROJECT_DIR|PWD)(?::?[-=?+][^}]*)?\})|\$\(pwd\)|`pwd`/g;

/** The command line with `.` in place of the folder's root. */
export function replaceRootVariables(command: string): string {
  return command.replace(rootVariables, ".");
}

/** The effects of trusting the file, as the trust question lists them. */
export function describeHooksEffects({ hooks }: HooksFile): readonly string[] {
  if (hooks.length === 0) return [];
  return [
    ...hooks.map(({ event, matcher, command, env }) => {
      const about = matcher === "" || matcher === "*" ? "" : ` of ${matcher}`;
      const variables = env.length === 0 ? "" : ` (with ${env.join(", ")})`;
      return `runs at ${event}${about}: ${command}${variables}`;
    }),
    `does so as you, outside of the sandbox; the trust includes scripts that the commands name and those in ${folderScriptsName}, but no other files that they run`,
  ];
}
