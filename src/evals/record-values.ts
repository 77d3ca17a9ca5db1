/**
 * Values in a record: labels, changes of the session's data, and inputs with their defaults.
 */

import { defined } from "../core/data/defined.js";
import { isJsonObject } from "../core/data/is-object.js";
import { labelKey, readLabel } from "../core/data/label.js";
import type { Json } from "../core/data/message.js";
import type { DataPatch } from "../core/data/session-data.js";
import type { Entry } from "../core/machine/event.js";
import type { CaseLabel } from "./case.js";

/** The latest label of the session. */
export function findLabel(entries: readonly Entry[]): CaseLabel | undefined {
  let label: CaseLabel | undefined;
  for (const { event } of entries) {
    if (event.type !== "data_changed") continue;
    const { set, unset } = event.patch;
    if (set !== undefined && Object.hasOwn(set, labelKey)) {
      const read = readLabel(set[labelKey]);
      label = read === null ? undefined : { ...read, ...defined({ by: event.by }) };
    }
    if (unset?.includes(labelKey) === true) label = undefined;
  }
  return label;
}

/** Removes the label from a patch: a label is a verdict on the session, not part of what the agent read. */
export function withoutLabel({ set, unset }: DataPatch): DataPatch {
  const { [labelKey]: _, ...others } = set ?? {};
  const removed = unset?.filter((key) => key !== labelKey) ?? [];
  return {
    ...(Object.keys(others).length === 0 ? {} : { set: others }),
    ...(removed.length === 0 ? {} : { unset: removed }),
  };
}

/** Merges two changes into one. */
export function mergePatches(first: DataPatch, then: DataPatch): DataPatch {
  const set = { ...first.set };
  for (const key of then.unset ?? []) delete set[key];
  Object.assign(set, then.set);
  const unset = [...new Set([...(first.unset ?? []), ...(then.unset ?? [])])].filter((key) => !Object.hasOwn(set, key));
  return {
    ...(Object.keys(set).length === 0 ? {} : { set }),
    ...(unset.length === 0 ? {} : { unset }),
  };
}

/** Fills in the defaults that the input's JSON Schema declares. */
export function fillDefaults(schema: Json | undefined, input: Json): Json {
  if (!isJsonObject(schema) || !isJsonObject(input) || !isJsonObject(schema.properties)) return input;
  const filled: { [key: string]: Json } = { ...input };
  for (const [key, property] of Object.entries(schema.properties)) {
    const given = filled[key];
    if (given !== undefined) filled[key] = fillDefaults(property, given);
    else if (isJsonObject(property) && property.default !== undefined) filled[key] = property.default;
  }
  return filled;
}
