/**
 * The records of file changes of a session and of the agents that it called.
 *
 * 1. A child keeps its records and their blobs in its own session. They count as changes of the run that called it.
 * 2. Whether a child's change is undone is kept in the session above, because a fork of that session has the same children.
 */
import { type Agent, createClient, type Store } from "../../index.js";
import { loadSessionData } from "../permissions/save-rule.js";
import { type FileRecord, readRecords, recordKeys } from "./file-records.js";

export type FamilyRecords = {
  /** Changes that can be undone, the oldest first. */
  readonly done: readonly FileRecord[];
  /** Changes that were undone, the last one undone last. */
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
  const isChild = ({ childId }: FileRecord) => childId === undefined || children.has(childId);
  const undone = readRecords(data[recordKeys.undone]).filter(isChild);
  const undoneKeys = new Set(undone.map(formatRecordKey));
  const own = readRecords(data[recordKeys.done]).filter(({ childId }) => childId === undefined);
  const below: FileRecord[] = [];
  for (const [childId, via] of children) {
    const childData = await loadSessionData(createClient({ store }).session(childId));
    for (const record of readRecords(childData?.[recordKeys.done])) below.push({ ...record, childId, via });
  }
  const order = new Map([...runIds].map((runId, index) => [runId, index]));
  const positionOf = (record: FileRecord) => [order.get(runIdOfRecord(record)) ?? -1, stepOf(record)] as const;
  const done = [...own, ...below.filter((record) => !undoneKeys.has(formatRecordKey(record)))].toSorted((a, b) => {
    const [[runA, stepA], [runB, stepB]] = [positionOf(a), positionOf(b)];
    return runA - runB || stepA - stepB;
  });
  return { done, undone };
}

/** Records that the changes of these runs are undone, or no longer undone. */
export async function moveFamilyRecords(
  deps: FamilyRecordsDeps,
  direction: "undo" | "redo",
  runIds: readonly string[],
): Promise<void> {
  const { done, undone } = await loadFamilyRecords(deps);
  const isMoved = (record: FileRecord) => runIds.includes(runIdOfRecord(record));
  const [kept, moved] = [(record: FileRecord) => !isMoved(record), isMoved];
  const next =
    direction === "undo"
      ? { done: done.filter(kept), undone: [...undone, ...done.filter(moved)] }
      : { done: [...done, ...undone.filter(moved)], undone: undone.filter(kept) };
  const own = next.done.filter(({ childId }) => childId === undefined);
  await deps.agent
    .session(deps.sessionId)
    .setData({ set: { [recordKeys.done]: own, [recordKeys.undone]: next.undone } });
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
  }
  return { children, runIds };
}

/** The number of the step in its run. */
function stepOf({ callKey, via = callKey }: FileRecord): number {
  return Number(via.split("/")[1]) || 0;
}

function formatRecordKey({ callKey, path, childId = "" }: FileRecord): string {
  return JSON.stringify([childId, callKey, path]);
}
