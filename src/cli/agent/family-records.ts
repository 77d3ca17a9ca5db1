/**
 * The records of file changes of a session and of the agents that it called.
 *
 * 1. A child keeps its records and their blobs in its own session. They count as changes of the run that called it.
 * 2. Whether a child's changes are undone is stored in the parent session, because a fork of that session has the same children.
 */
import { mostDataBytes } from "../../core/index.js";
import { type Agent, createClient, PawlError, type Store } from "../../index.js";
import { loadSessionData } from "../permissions/save-rule.js";
import {
  type FileRecord,
  isOwnRecord,
  readDoneRecords,
  readUndone,
  recordKeys,
  type UndoneChild,
} from "./file-records.js";

export type FamilyRecords = {
  /** Changes that can be undone, the oldest first. */
  readonly done: readonly FileRecord[];
  /** Changes that were undone, the most recently undone last. */
  readonly undone: readonly FileRecord[];
};

export type FamilyRecordsDeps = { readonly agent: Agent; readonly store: Store; readonly sessionId: string };

/** The run of the session that the change belongs to. */
export function runIdOfRecord({ callKey, via = callKey }: FileRecord): string {
  return via.split("/")[0] ?? "";
}

/** @throws PawlError `no_session` */
export async function loadFamilyRecords({ agent, store, sessionId }: FamilyRecordsDeps): Promise<FamilyRecords> {
  const data = await agent.session(sessionId).data();
  const { children, runIds } = await readFamily(agent, sessionId);
  const byChild = new Map<string, readonly FileRecord[]>();
  for (const [childId, via] of children) {
    const childData = await loadSessionData(createClient({ store }).session(childId));
    const records = childData === null ? [] : readDoneRecords(childData);
    byChild.set(
      childId,
      records.map((record) => ({ ...record, childId, via })),
    );
  }
  const entries = readUndone(data[recordKeys.undone]);
  const undone = entries.flatMap((entry) => (isOwnRecord(entry) ? [entry] : (byChild.get(entry.childId) ?? [])));
  const undoneChildren = new Set(undone.map(({ childId }) => childId));
  const below = [...byChild].flatMap(([childId, records]) => (undoneChildren.has(childId) ? [] : records));
  return {
    done: sortRecords([...readDoneRecords(data), ...below], [...runIds]),
    undone: sortRecords(undone, undone.map(runIdOfRecord)),
  };
}

/** Sorts records by their run, and within a run by the step and the time. @param runIds the runs in order; one may be repeated */
function sortRecords(records: readonly FileRecord[], runIds: readonly string[]): readonly FileRecord[] {
  const order = new Map([...new Set(runIds)].map((runId, index) => [runId, index]));
  const positionOf = (record: FileRecord) => order.get(runIdOfRecord(record)) ?? -1;
  return records.toSorted(
    (a, b) => positionOf(a) - positionOf(b) || stepOf(a) - stepOf(b) || (a.at ?? 0) - (b.at ?? 0),
  );
}

/**
 * Records that the changes of these runs are undone, or no longer undone.
 * @param runIds for an undo, the newest run first
 * @param isTrial only checks that the records can be stored
 * @throws PawlError `bad_input` if the session's data has no room for it
 */
export async function moveFamilyRecords(
  deps: FamilyRecordsDeps,
  direction: "undo" | "redo",
  runIds: readonly string[],
  isTrial = false,
): Promise<void> {
  const session = deps.agent.session(deps.sessionId);
  const { done, undone } = await loadFamilyRecords(deps);
  const isMoved = (record: FileRecord) => runIds.includes(runIdOfRecord(record));
  const [kept, moved] = [(record: FileRecord) => !isMoved(record), isMoved];
  const next =
    direction === "undo"
      ? { done: done.filter(kept), undone: [...undone, ...sortRecords(done.filter(moved), runIds)] }
      : { done: [...done, ...undone.filter(moved)], undone: undone.filter(kept) };
  const set = {
    [recordKeys.done]: next.done.filter(isOwnRecord),
    [recordKeys.undone]: toUndoneEntries(next.undone),
  };
  const bytes = Buffer.byteLength(JSON.stringify({ ...(await session.data()), ...set }));
  if (bytes > mostDataBytes)
    throw new PawlError(
      "bad_input",
      `Cannot record which changes are undone: the session's data would take ${bytes} bytes, and at most ${mostDataBytes} are allowed. Name fewer runs.`,
    );
  if (!isTrial) await session.setData({ set });
}

/** The records of a child session are stored as its id: one session may not have room for all of them. */
function toUndoneEntries(records: readonly FileRecord[]): (FileRecord | UndoneChild)[] {
  const children = new Set<string>();
  return records.flatMap((record): (FileRecord | UndoneChild)[] => {
    const { childId } = record;
    if (childId === undefined) return [record];
    if (children.has(childId)) return [];
    children.add(childId);
    return [{ childId }];
  });
}

/** The child sessions of a session, each with the call that started it, and the runs in order. */
export async function readFamily(
  agent: Agent,
  sessionId: string,
): Promise<{ readonly children: ReadonlyMap<string, string>; readonly runIds: ReadonlySet<string> }> {
  const children = new Map<string, string>();
  const runIds = new Set<string>();
  for await (const event of agent.session(sessionId).events({ follow: false, live: false })) {
    if ("runId" in event && typeof event.runId === "string") runIds.add(event.runId);
    if (event.type === "child_started") children.set(event.childId, event.callKey);
    if (event.type === "tool_result" && event.startedChild !== undefined)
      children.set(event.startedChild, event.callKey);
  }
  return { children, runIds };
}

/** The number of the step in its run. */
function stepOf({ callKey, via = callKey }: FileRecord): number {
  return Number(via.split("/")[1]) || 0;
}
