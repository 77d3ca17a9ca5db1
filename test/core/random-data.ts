/**
 * Random changes of a session's data, and what a compaction keeps of it. Each draws from a chance of its own: the
 * sessions that a seed draws stay as they are.
 */
import { createHash } from "node:crypto";
import type { DataPatch, Json } from "../../src/core/index.js";
import { createChance } from "./chance.js";
import type { Session } from "./session.js";

export function randomPatch({ state, at }: Pick<Session, "state" | "at">): DataPatch {
  const chance = createChance(7 * state.seq + at);
  const key = () => chance.pick(["plan", "account", "draft", "n"]);
  const set = { [key()]: chance.pick<Json>([state.seq, "main", null, { items: [state.seq] }]) };
  const unset = [key()];
  return chance.pick<DataPatch>([{ set }, { set: { ...set, [key()]: state.seq } }, { unset }, { set, unset }]);
}

/** What a call says of its changes: mostly nothing. */
export function randomChanges(session: Pick<Session, "state" | "at">): { readonly data?: DataPatch } {
  return createChance(3 * session.state.seq + session.at).oneIn(3) ? { data: randomPatch(session) } : {};
}

/** The blob with the data as it stands, if there is any. */
export function storeDataBlob({ transcript: { data }, blobs }: Session): { readonly dataBlob?: string } {
  if (Object.keys(data).length === 0) return {};
  const bytes = new TextEncoder().encode(JSON.stringify(data));
  const dataBlob = createHash("sha256").update(bytes).digest("hex");
  blobs.set(dataBlob, bytes);
  return { dataBlob };
}
