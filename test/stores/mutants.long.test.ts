/**
 * The conformance suite finds what it is for: the memory store is broken in one place at a time, and some case must fail.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isInShare } from "../support/share.js";
import { verifies } from "../verifies.js";
import { compileStores, tempFolder } from "./children.js";

/** Below the folder of the stores. */
const files = { memory: "memory/index", "memory-lists": "memory/lists", lease: "shared/lease" } as const;
type File = keyof typeof files;
type Sources = { readonly [file in File]: string };

/** What is broken → a piece of the source, and what stands there instead. */
const mutants: { readonly [what: string]: readonly [file: File, from: string, to: string] } = {
  "epochs are not looked at": [
    "memory",
    "session.hold !== null && session.epoch === lease.epoch",
    "session.hold !== null",
  ],
  "a release does not fence": [
    "memory",
    "session.hold !== null && session.epoch === lease.epoch",
    "session.epoch === lease.epoch",
  ],
  "epochs start again with a session": ["memory", "session.epoch = memory.epoch;", "session.epoch += 1;"],
  "the clock fences": [
    "memory",
    "session.epoch === lease.epoch;",
    "session.epoch === lease.epoch && session.hold.expiresAt > session.updatedAt + 3e4;",
  ],
  "the sequence is not looked at": ["memory", "session.log.length !== commit.expectedSeq", "false"],
  "only later sequences are conflicts": [
    "memory",
    "session.log.length !== commit.expectedSeq",
    "session.log.length < commit.expectedSeq",
  ],
  "ids are free again when they were consumed": [
    "memory",
    "session.inbox.delete(id);",
    "{ session.inbox.delete(id); session.takenIds.delete(id); }",
  ],
  "ids that were recorded are not taken": ["memory", "signals.takeId(session, id);", ";"],
  "recorded ids are not looked at": ["memory", "duplicate !== undefined", "false"],
  "the inbox does not hold up a commit that releases": ["memory", "hasUnconsumed(session.inbox, consume)", "false"],
  "a commit that releases does not": [
    "memory",
    "commit.release === true)\n        session.hold = null",
    "false)\n        session.hold = null",
  ],
  "nothing is consumed": ["memory", "session.inbox.delete(id);", ""],
  "the state stays behind": ["memory-lists", "session.state = state;", "session.state ??= state;"],
  "states are not kept": ["memory-lists", "session.states.push(state);", ";"],
  "a state may be after the entry": ["memory-lists", "seq ?? 0) <= seq", "seq ?? 0) < seq"],
  "filters by agent let all pass": ["memory-lists", "agent === undefined ||", "true ||"],
  "filters by folder let all pass": ["memory-lists", "root === undefined ||", "true ||"],
  "filters by parent let all pass": ["memory-lists", "parent === undefined ||", "true ||"],
  "updates are not dated": ["memory", "session.updatedAt = commit.at;", ""],
  "the due time stays": ["memory", "session.dueAt = commit.dueAt;", "session.dueAt ??= commit.dueAt;"],
  "the activity stays": ["memory", "session.activity = commit.activity;", ""],
  "leases run for ever": ["lease", "hold.expiresAt > now &&", ""],
  "leases end a millisecond late": ["lease", "hold.expiresAt > now", "hold.expiresAt >= now"],
  "void leases hold": ["lease", "&& hold.expiresAt <= now + maxLeaseFactor * hold.leaseMs", ""],
  "the dead hold": ["lease", "&& !isDead(hold.holder)", ""],
  "lost leases are renewed": [
    "memory",
    "session === undefined || !holdsLease(session, lease))\n        return false",
    "session === undefined)\n        return false",
  ],
  "what is active is deleted": ["memory", '|| session.activity !== "resting"', ""],
  "what is held is deleted": ["memory", "(leased ||", "(false ||"],
  "blobs are shared with their giver": ["memory", "bytes.slice()", "bytes"],
  "a limit takes the last": ["memory-lists", ".slice(0, limit)", ".slice(-limit)"],
  "who asks is not noted": ["memory", "session.askedAt = commit.askedAt;", ""],
  "who asks stays": ["memory", "session.askedAt = commit.askedAt;", "session.askedAt ??= commit.askedAt;"],
  "the order of who asks stays": ["memory", "memory.sortedAsking = null;", ""],
  "who was deleted asks still": ["memory", "if (session.askedAt !== null)\n        memory.sortedAsking = null;", ""],
  "who asks last comes first": ["memory-lists", "a.askedAt - b.askedAt", "b.askedAt - a.askedAt"],
  "a page of who asks begins with the last one of the page before": ["memory-lists", "cursor) <= 0", "cursor) < 0"],
  "a page of who asks has no end": ["memory-lists", "limit === undefined ? undefined : from + limit", "undefined"],
};

let compiled = "";
let sources: Sources;
beforeAll(() => {
  compiled = compileStores(tempFolder);
  const source = (file: File): string => readFileSync(join(compiled, "stores", `${files[file]}.js`), "utf8");
  sources = { memory: source("memory"), "memory-lists": source("memory-lists"), lease: source("lease") };
});
afterAll(() => {
  rmSync(compiled, { recursive: true });
});

/** The names of the cases that fail with these sources, in a copy of the stores' folder. */
async function failing(stem: string, source: Sources): Promise<string[]> {
  cpSync(join(compiled, "stores"), join(compiled, stem), { recursive: true });
  for (const [file, path] of Object.entries(files))
    writeFileSync(join(compiled, stem, `${path}.js`), source[file as File]);
  const load = (file: string) => import(pathToFileURL(join(compiled, file)).href);
  const { createMemoryStore } = (await load(
    `${stem}/memory/index.js`,
  )) as typeof import("../../src/stores/memory/index.js");
  const suite = (await load("testing/store-conformance.js")) as typeof import("../../src/testing/store-conformance.js");
  const cases = suite.storeConformance(async () => {
    const store = createMemoryStore();
    return { store, close: () => store.close() };
  });
  const failed: string[] = [];
  // Watching waits for what a broken store may never tell.
  for (const each of cases.filter(({ name }) => !name.startsWith("watch:")))
    await each.run().catch(() => failed.push(each.name));
  return failed;
}

test("the store as it is passes", verifies("STOR-1"), async () => {
  expect(await failing("sound", sources)).toEqual([]);
});

const played = Object.entries(mutants).filter((_, at) => isInShare(at));

test.for(played)("a store is found out if %s", verifies("STOR-1"), async ([what, mutant]) => {
  const [file, from, to] = mutant;
  expect(sources[file], `the place of the mutant "${what}"`).toContain(from);
  const broken = { ...sources, [file]: sources[file].replace(from, to) };
  expect(await failing(`mutant-${Object.keys(mutants).indexOf(what)}`, broken)).not.toEqual([]);
});
