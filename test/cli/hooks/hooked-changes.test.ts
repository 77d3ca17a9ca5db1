/**
 * What hooks after a call change in the file that the call has written: /undo and /redo count it as the call's own change.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { applyPlan, createPlan, type Direction } from "../../../src/cli/conversation/commands/file-history.js";
import type { Json } from "../../../src/index.js";
import { verifies } from "../../verifies.js";
import { call, createHookWorld, done, hooksFile } from "./hook-world.js";

const allow = ["write_file(**)", "edit_file(**)"];
/** A formatter: it adds a line to the end of the file, unless the line is there. */
const command = "grep -q formatted notes.txt || printf 'formatted\\n' >> notes.txt";
const formatting = hooksFile("PostToolUse", { command }, "Write|Edit");
const edit = (oldText: string, newText: string): Json => ({ path: "notes.txt", oldText, newText });

function openDesk(hooks: string) {
  const world = createHookWorld({ "config/pawl/hooks.json": hooks });
  const { agent } = world.start(
    [
      call("edit_file", edit("blue", "red")),
      {
        calls: [
          { name: "edit_file", input: edit("notes", "papers") },
          { name: "edit_file", input: edit("red", "green") },
        ],
      },
      done,
    ],
    { allow },
  );
  const deps = { agent, store: world.store, sessionId: "s", root: world.root, home: world.home };
  const plan = async (direction: Direction) => {
    const found = await createPlan(deps, direction, 1);
    if (found === null) throw new Error(`There is nothing to ${direction}.`);
    return found;
  };
  const states = async (direction: Direction) => (await plan(direction)).files.map(({ state }) => state);
  const apply = async (direction: Direction) => {
    const { files, ...rest } = await plan(direction);
    return await applyPlan({ files, ...rest }, files, deps);
  };
  const text = () => readFileSync(join(world.root, "notes.txt"), "utf8");
  return { ...world, agent, states, apply, text };
}

const before = "The notes say blue.\n";
const after = "The papers say green.\nformatted\n";

test("are taken back without a conflict, and brought forward as they were", verifies("CHAT-3#undo"), async () => {
  const { agent, states, apply, text } = openDesk(formatting);
  await agent.run("Go.", { sessionId: "s" });
  expect(text()).toBe(after);
  await expect.poll(() => states("undo")).toEqual(["ready"]);
  expect(await apply("undo")).toMatchObject({ restored: ["notes.txt"], failed: [] });
  expect(text()).toBe(before);
  expect(await states("redo")).toEqual(["ready"]);
  await apply("redo");
  expect(text()).toBe(after);
});

test("are still a conflict once something else has changed the file", verifies("CHAT-3#undo"), async () => {
  const { agent, states, write } = openDesk(formatting);
  await agent.run("Go.", { sessionId: "s" });
  await expect.poll(() => states("undo")).toEqual(["ready"]);
  write("root/notes.txt", `${after}mine\n`);
  expect(await states("undo")).toEqual(["conflict"]);
});

test("a hook after a call that only reads is something else", verifies("CHAT-3#undo"), async () => {
  const command = "printf 'mine\\n' >> notes.txt";
  const world = createHookWorld({ "config/pawl/hooks.json": hooksFile("PostToolUse", { command }, "Read") });
  const script = [call("edit_file", edit("blue", "red")), call("read_file", { path: "notes.txt" }), done];
  const { agent } = world.start(script, { allow });
  await agent.run("Go.", { sessionId: "s" });
  const plan = await createPlan({ agent, store: world.store, sessionId: "s", root: world.root }, "undo", 1);
  expect(plan?.files.map(({ state }) => state)).toEqual(["conflict"]);
});
